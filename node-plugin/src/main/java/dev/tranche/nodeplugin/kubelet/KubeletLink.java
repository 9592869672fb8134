package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.Backoff;
import dev.tranche.api.kubelet.DevicePluginGrpcService;
import dev.tranche.api.kubelet.RegisterRequest;
import dev.tranche.api.kubelet.RegistrationGrpcClient;
import dev.tranche.nodeplugin.file.FileAccess;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.process.loop.MonotonicClock;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.server.GrpcServer;
import io.vertx.grpc.server.GrpcServerOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one resource registered with the kubelet: our socket in its folder, the registration and an
 * open ListAndWatch. Restores whatever is missing. A restarted kubelet has a new socket and has
 * deleted ours. A kubelet that confused two plugins has only closed our stream. If another plugin
 * serves the resource, waits until it is gone. Confined to the event loop.
 */
final class KubeletLink {
  private static final Logger LOG = LoggerFactory.getLogger(KubeletLink.class);
  private static final int BACKOFF_MIN_MS = 250;
  private static final int BACKOFF_MAX_MS = 30_000;
  private static final int OCCUPIED_MS = 5_000;
  // The kubelet opens ListAndWatch after Register has returned.
  private static final int STREAM_WAIT_MS = 10_000;
  // Within the call, the kubelet connects back to the plugin and allows itself ten seconds for
  // that.
  private static final int REGISTER_LIMIT_MS = 15_000;
  private static final String API_VERSION = "v1beta1";
  private static final long MESSAGE_MAX_BYTES = 4 << 20;

  private final KubeletParts parts;
  private final Vertx vertx;
  private final Path kubeletSocket;
  private final Path folder;
  private final PluginSockets sockets;
  private final String resource;
  private final DevicePluginServer server;
  private final DeviceStreams streams;

  // Set while a server listens on it.
  private volatile @Nullable SocketFile socket;
  private @Nullable HttpServer httpServer;
  private Future<?> opening = Future.succeededFuture();
  private String kubeletIdentity = "";
  private boolean registered;
  private long registeredAtMs;
  private long notBeforeMs;
  private final Backoff backoff = new Backoff(BACKOFF_MIN_MS, BACKOFF_MAX_MS);
  private String complaint = "";
  // Also until it is started.
  private boolean busy = true;
  private boolean stopped;

  KubeletLink(KubeletParts parts, DevicePluginServer server, Replicas replicas) {
    this.parts = parts;
    this.vertx = parts.vertx();
    this.kubeletSocket = parts.options().kubeletSocket();
    this.resource = replicas.resource();
    this.folder = kubeletSocket.toAbsolutePath().resolveSibling("");
    this.sockets = new PluginSockets(folder, resource);
    this.server = server;
    this.streams =
        new DeviceStreams(DeviceList.of(replicas), this::streamOpened, this::streamClosed);
  }

  void start() {
    busy = false;
    check();
  }

  void publish(Replicas replicas) {
    server.update(replicas);
    streams.publish(DeviceList.of(replicas));
  }

  /** Returns whether the resource is registered and a ListAndWatch is open. */
  boolean registered() {
    return registered && streams.anyOpen();
  }

  // Each registration has a socket of its own. The kubelet follows it only after it has accepted
  // the registration, even if its answer was lost.
  private void streamOpened() {
    registered = true;
    complaint = "";
    parts.listener().registrationChanged();
  }

  private void streamClosed() {
    if (!stopped) {
      LOG.info("the kubelet closed its stream for {}", resource);
      registered = false;
      parts.listener().registrationChanged();
      retryLater();
    }
  }

  /**
   * What is in the kubelet's folder.
   *
   * @param kubelet identity of the kubelet's socket, which changes when it restarts; empty if there
   *     is none
   * @param serving whether our socket is there
   * @param denied why the kubelet's socket cannot be looked at; empty if it can
   * @param occupied which other plugin serves the resource; empty if none does
   * @param removed whether the folder itself was deleted
   */
  private record FolderState(
      String kubelet,
      Optional<String> denied,
      boolean serving,
      Optional<String> occupied,
      boolean removed) {}

  /** Checks the folder and restores what is missing there. */
  void check() {
    if (busy || stopped) {
      return;
    }
    busy = true;
    vertx
        .executeBlocking(this::readFolder, false)
        .compose(this::restore)
        .onComplete(
            done -> {
              busy = false;
              if (done.failed() && !stopped) {
                failed(done.cause());
              }
            });
  }

  private FolderState readFolder() throws IOException {
    String kubelet = SocketFile.identity(kubeletSocket);
    boolean removed = kubelet.isEmpty() && SocketFile.removed(folder);
    Optional<String> denied =
        kubelet.isEmpty() ? FileAccess.denied(kubeletSocket) : Optional.empty();
    if (denied.isPresent()) {
      return new FolderState("", denied, false, Optional.empty(), false);
    }
    SocketFile ours = socket;
    return new FolderState(
        kubelet, denied, ours != null && ours.isThere(), sockets.occupied(ours), removed);
  }

  private Future<Void> restore(FolderState state) {
    if (state.removed()) {
      parts.listener().folderRemoved(folder);
      return Future.succeededFuture();
    }
    if (state.denied().isPresent()) {
      denied(state.denied().get());
      return Future.succeededFuture();
    }
    if (!state.kubelet().isEmpty() && !state.kubelet().equals(kubeletIdentity)) {
      kubeletIdentity = state.kubelet();
      registered = false;
      backoff.reset();
      notBeforeMs = 0;
    }
    boolean healthy = state.serving() && registrationHealthy();
    if (stopped || state.kubelet().isEmpty() || MonotonicClock.ms() < notBeforeMs) {
      return Future.succeededFuture();
    }
    // A plugin that starts beside us does not touch our socket: only its own socket is seen.
    state.occupied().ifPresent(this::occupied);
    return healthy || state.occupied().isPresent() ? Future.succeededFuture() : register();
  }

  private Future<Void> register() {
    return open()
        .compose(at -> stopped ? Future.failedFuture("stopped") : register(at))
        .onSuccess(this::succeeded)
        .mapEmpty();
  }

  private Future<Path> register(Path at) {
    RegisterRequest message =
        RegisterRequest.newBuilder()
            .setVersion(API_VERSION)
            .setEndpoint(at.getFileName().toString())
            .setResourceName(resource)
            .setOptions(DevicePluginServer.options())
            .build();
    return UnaryCall.once(
            vertx, kubeletSocket, RegistrationGrpcClient.Register, message, REGISTER_LIMIT_MS)
        .<Void>mapEmpty()
        .recover(
            lost -> streams.anyOpen() ? Future.succeededFuture() : Future.<Void>failedFuture(lost))
        .map(at);
  }

  private boolean registrationHealthy() {
    boolean settled = MonotonicClock.ms() - registeredAtMs > STREAM_WAIT_MS;
    if (settled && streams.anyOpen()) {
      backoff.reset();
    }
    return registered && (streams.anyOpen() || !settled);
  }

  // A stop in the meantime waits for this future, so that it finds the server to close.
  private Future<Path> open() {
    Path next = sockets.next();
    Future<Path> listening = close().compose(v -> listen(next)).map(next);
    opening = listening;
    return listening;
  }

  private Future<Void> listen(Path next) {
    return vertx
        .createHttpServer()
        .requestHandler(grpc())
        .listen(SocketAddress.domainSocketAddress(next.toString()))
        .onSuccess(now -> httpServer = now)
        .compose(v -> vertx.executeBlocking(() -> SocketFile.listenedOn(next), false))
        .onSuccess(at -> socket = at)
        .mapEmpty();
  }

  /** Ends the streams, closes the server and deletes its socket. */
  private Future<Void> close() {
    HttpServer server = httpServer;
    SocketFile at = socket;
    streams.end();
    if (server == null || at == null) {
      return Future.succeededFuture();
    }
    httpServer = null;
    socket = null;
    return server
        .close()
        .otherwiseEmpty()
        .compose(v -> vertx.executeBlocking(at::delete, false))
        .otherwiseEmpty()
        .mapEmpty();
  }

  private GrpcServer grpc() {
    GrpcServerOptions options = new GrpcServerOptions().setMaxMessageSize(MESSAGE_MAX_BYTES);
    GrpcServer grpc = GrpcServer.server(vertx, options).addService(server.bind().build());
    return grpc.callHandler(DevicePluginGrpcService.ListAndWatch, streams::opened);
  }

  private void succeeded(Path at) {
    LOG.info("registered {} with the kubelet at {}", resource, at);
    count("registered");
    registered = true;
    registeredAtMs = MonotonicClock.ms();
    complaint = "";
    parts.listener().registrationChanged();
  }

  private void failed(Throwable cause) {
    registered = false;
    LOG.warn("{} is not registered with the kubelet: {}", resource, cause.toString());
    count("failed");
    retryLater();
  }

  private void denied(String sentence) {
    if (!sentence.equals(complaint)) {
      complaint = sentence;
      LOG.error("{} cannot be registered with the kubelet: {}", resource, sentence);
      count("denied");
      parts.listener().registrationChanged();
    }
  }

  private void occupied(String sentence) {
    registered = false;
    count("occupied");
    notBeforeMs = MonotonicClock.ms() + OCCUPIED_MS;
    if (!sentence.equals(complaint)) {
      complaint = sentence;
      parts.listener().occupied(sentence);
      parts.listener().registrationChanged();
    }
  }

  /** Returns why the resource is not registered, if somebody must act on it; else empty. */
  String complaint() {
    return complaint;
  }

  private void count(String outcome) {
    parts
        .metrics()
        .count("tranche.node.registrations", "Registrations with the kubelet.", "outcome", outcome);
  }

  private void retryLater() {
    long waitMs = backoff.nextWithJitter();
    notBeforeMs = MonotonicClock.ms() + waitMs;
    vertx.setTimer(waitMs + 1, id -> check());
  }

  /** Ends the streams and deletes the socket. */
  Future<Void> stop() {
    stopped = true;
    streams.end();
    return opening.otherwiseEmpty().compose(v -> close());
  }
}
