package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.Backoff;
import dev.tranche.api.kubelet.DevicePluginGrpcService;
import dev.tranche.api.listen.GrpcEncoding;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.kubelet.CompetingPlugin.OccupiedException;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.server.GrpcServer;
import io.vertx.grpc.server.GrpcServerOptions;
import java.nio.file.Path;
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
  private static final long MESSAGE_MAX_BYTES = 4 << 20;

  private final Vertx vertx;
  private final Path kubeletSocket;
  private final SocketFile socket;
  private final String resource;
  private final DevicePluginServer server;
  private final DeviceStreams streams;
  private final Registration registration;
  private final NodeMetrics metrics;
  private final Kubelet.Listener listener;

  private @Nullable HttpServer httpServer;
  private Future<Void> opening = Future.succeededFuture();
  private String kubeletIdentity = "";
  private boolean registered;
  private long registeredAtMs;
  private long notBeforeMs;
  private final Backoff backoff = new Backoff(BACKOFF_MIN_MS, BACKOFF_MAX_MS);
  private String complaint = "";
  private boolean started;
  private boolean busy;
  private boolean stopped;

  KubeletLink(
      Vertx vertx,
      Path kubeletSocket,
      DevicePluginServer server,
      Replicas replicas,
      NodeMetrics metrics,
      Kubelet.Listener listener) {
    this.vertx = vertx;
    this.kubeletSocket = kubeletSocket;
    this.resource = replicas.resource();
    this.socket = new SocketFile(kubeletSocket.resolveSibling(socketName(resource)));
    this.server = server;
    this.streams =
        new DeviceStreams(
            DeviceList.of(replicas),
            listener::registrationChanged,
            this::streamClosed,
            this::countEndedStream);
    this.registration = new Registration(vertx, kubeletSocket);
    this.metrics = metrics;
    this.listener = listener;
  }

  /** Returns NVIDIA's name for the socket, such as nvidia-gpu.sock for nvidia.com/gpu. */
  static String socketName(String resource) {
    return "nvidia-" + resource.substring(resource.indexOf('/') + 1) + ".sock";
  }

  void start() {
    if (stopped) {
      return;
    }
    started = true;
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

  private void countEndedStream() {
    metrics.count(
        "tranche.node.list.streams.ended",
        "ListAndWatch calls closed because there were too many.");
  }

  private void streamClosed() {
    if (!stopped) {
      LOG.info("the kubelet closed its stream for {}", resource);
      registered = false;
      listener.registrationChanged();
      retryLater();
    }
  }

  /**
   * What is in the kubelet's folder.
   *
   * @param kubelet identity of the kubelet's socket, which changes when it restarts; empty if there
   *     is none
   * @param socket identity of the socket at our socket's path; empty if there is none
   * @param removed whether the folder itself was deleted
   */
  private record FolderState(String kubelet, String socket, boolean removed) {}

  /** Checks the folder and restores what is missing there. */
  void check() {
    if (busy || stopped || !started) {
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

  private FolderState readFolder() {
    String kubelet = SocketFile.identity(kubeletSocket);
    boolean removed = kubelet.isEmpty() && SocketFile.removed(folder());
    return new FolderState(kubelet, socket.identity(), removed);
  }

  private Path folder() {
    return kubeletSocket.toAbsolutePath().resolveSibling("");
  }

  private Future<Void> restore(FolderState state) {
    if (state.removed()) {
      listener.folderRemoved(folder());
      return Future.succeededFuture();
    }
    if (!state.kubelet().isEmpty() && !state.kubelet().equals(kubeletIdentity)) {
      kubeletIdentity = state.kubelet();
      registered = false;
      backoff.reset();
      notBeforeMs = 0;
    }
    boolean serving = httpServer != null && socket.isOurs(state.socket());
    if (stopped
        || state.kubelet().isEmpty()
        || (serving && registrationHealthy())
        || now() < notBeforeMs) {
      return Future.succeededFuture();
    }
    return (serving ? Future.<Void>succeededFuture() : failIfOccupied(state).compose(v -> open()))
        .compose(v -> stopped ? Future.failedFuture("stopped") : Future.succeededFuture())
        .compose(v -> registration.register(resource, socket.path().getFileName().toString()))
        .onSuccess(v -> succeeded());
  }

  private boolean registrationHealthy() {
    boolean settled = now() - registeredAtMs > STREAM_WAIT_MS;
    if (settled && streams.anyOpen()) {
      backoff.reset();
    }
    return registered && (streams.anyOpen() || !settled);
  }

  private Future<Void> failIfOccupied(FolderState state) {
    if (state.socket().isEmpty()) {
      return Future.succeededFuture();
    }
    return CompetingPlugin.answers(vertx, socket.path())
        .compose(
            alive ->
                alive
                    ? Future.failedFuture(new OccupiedException(resource, socket.path()))
                    : Future.succeededFuture());
  }

  // A stop in the meantime waits for this future, so that it finds the server to close.
  private Future<Void> open() {
    if (!stopped) {
      opening = listen();
    }
    return opening;
  }

  private Future<Void> listen() {
    HttpServer old = httpServer;
    Future<Void> closed = old == null ? Future.succeededFuture() : old.close();
    return closed
        .otherwiseEmpty()
        .compose(v -> vertx.executeBlocking(socket::clearDraft, false))
        .compose(
            v ->
                vertx
                    .createHttpServer()
                    .requestHandler(GrpcEncoding.refusingPacked(grpc()))
                    .listen(address(socket.draft())))
        .onSuccess(now -> httpServer = now)
        .compose(v -> vertx.executeBlocking(socket::publish, false));
  }

  private static SocketAddress address(Path at) {
    return SocketAddress.domainSocketAddress(at.toString());
  }

  private GrpcServer grpc() {
    GrpcServerOptions options = new GrpcServerOptions().setMaxMessageSize(MESSAGE_MAX_BYTES);
    GrpcServer grpc = GrpcServer.server(vertx, options).addService(server.bind().build());
    return grpc.callHandler(DevicePluginGrpcService.ListAndWatch, streams::opened);
  }

  private void succeeded() {
    LOG.info("registered {} with the kubelet", resource);
    count("registered");
    registered = true;
    registeredAtMs = now();
    complaint = "";
    listener.registrationChanged();
  }

  private void failed(Throwable cause) {
    registered = false;
    if (cause instanceof OccupiedException) {
      occupied(String.valueOf(cause.getMessage()));
      return;
    }
    LOG.warn("{} is not registered with the kubelet: {}", resource, cause.toString());
    count("failed");
    retryLater();
  }

  private void occupied(String sentence) {
    count("occupied");
    notBeforeMs = now() + OCCUPIED_MS;
    if (!sentence.equals(complaint)) {
      complaint = sentence;
      listener.occupied(sentence);
      listener.registrationChanged();
    }
  }

  /** Returns why the resource is not registered, if somebody must act on it; else empty. */
  String complaint() {
    return complaint;
  }

  private void count(String outcome) {
    metrics.count(
        "tranche.node.registrations", "Registrations with the kubelet.", "outcome", outcome);
  }

  private void retryLater() {
    long waitMs = backoff.nextWithJitter();
    notBeforeMs = now() + waitMs;
    vertx.setTimer(waitMs + 1, id -> check());
  }

  private static long now() {
    return System.nanoTime() / 1_000_000;
  }

  /** Ends the streams and deletes the socket. */
  Future<Void> stop() {
    stopped = true;
    streams.end();
    return opening
        .otherwiseEmpty()
        .compose(v -> httpServer == null ? Future.<Void>succeededFuture() : httpServer.close())
        .otherwiseEmpty()
        .compose(v -> vertx.executeBlocking(socket::delete, false));
  }
}
