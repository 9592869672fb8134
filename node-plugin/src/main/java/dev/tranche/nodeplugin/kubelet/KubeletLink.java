package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.Backoff;
import dev.tranche.api.kubelet.DevicePluginGrpcService;
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
 * One resource's standing with the kubelet: our socket in its folder, registered, its ListAndWatch
 * open. Whatever is missing is made good: a kubelet that started anew has another socket and has
 * deleted ours; a kubelet that mixed up two plugins has closed our stream and nothing else. Another
 * plugin of the same resource is waited for, until it is gone. Confined to the event loop.
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

  private @Nullable HttpServer listening;
  private Future<Void> opening = Future.succeededFuture();
  private String kubelet = "";
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
            this::crowded);
    this.registration = new Registration(vertx, kubeletSocket);
    this.metrics = metrics;
    this.listener = listener;
  }

  /** NVIDIA's: nvidia-gpu.sock for nvidia.com/gpu. */
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
    server.replicas(replicas);
    streams.publish(DeviceList.of(replicas));
  }

  /** The kubelet knows us and listens. */
  boolean registered() {
    return registered && streams.anyOpen();
  }

  private void crowded() {
    metrics.count(
        "tranche.node.list.streams.ended", "ListAndWatch calls ended because of too many.");
  }

  private void streamClosed() {
    if (!stopped) {
      LOG.info("the kubelet closed its stream for {}", resource);
      registered = false;
      listener.registrationChanged();
      later();
    }
  }

  /**
   * What the folder shows.
   *
   * @param kubelet tells one kubelet's socket from the next one's; empty: none there
   * @param socket likewise of what stands in our socket's place
   * @param removed whether the folder itself is gone for good
   */
  private record Seen(String kubelet, String socket, boolean removed) {}

  /** Looks at the folder and makes good what is missing there. */
  void check() {
    if (busy || stopped || !started) {
      return;
    }
    busy = true;
    vertx
        .executeBlocking(this::look, false)
        .compose(this::makeGood)
        .onComplete(
            done -> {
              busy = false;
              if (done.failed() && !stopped) {
                failed(done.cause());
              }
            });
  }

  private Seen look() {
    String kubelet = SocketFile.identity(kubeletSocket);
    boolean removed = kubelet.isEmpty() && SocketFile.removed(folder());
    return new Seen(kubelet, socket.identity(), removed);
  }

  private Path folder() {
    return kubeletSocket.toAbsolutePath().resolveSibling("");
  }

  private Future<Void> makeGood(Seen seen) {
    if (seen.removed()) {
      listener.folderRemoved(folder());
      return Future.succeededFuture();
    }
    if (!seen.kubelet().isEmpty() && !seen.kubelet().equals(kubelet)) {
      kubelet = seen.kubelet();
      registered = false;
      backoff.reset();
      notBeforeMs = 0;
    }
    boolean serving = listening != null && socket.ours(seen.socket());
    if (stopped || seen.kubelet().isEmpty() || (serving && standing()) || now() < notBeforeMs) {
      return Future.succeededFuture();
    }
    return (serving ? Future.<Void>succeededFuture() : vacant(seen).compose(v -> open()))
        .compose(v -> stopped ? Future.failedFuture("stopped") : Future.succeededFuture())
        .compose(v -> registration.register(resource, socket.path().getFileName().toString()))
        .onSuccess(v -> succeeded());
  }

  private boolean standing() {
    boolean settled = now() - registeredAtMs > STREAM_WAIT_MS;
    if (settled && streams.anyOpen()) {
      backoff.reset();
    }
    return registered && (streams.anyOpen() || !settled);
  }

  private Future<Void> vacant(Seen seen) {
    if (seen.socket().isEmpty()) {
      return Future.succeededFuture();
    }
    return CompetingPlugin.answers(vertx, socket.path())
        .compose(
            alive ->
                alive
                    ? Future.failedFuture(new OccupiedException(resource, socket.path()))
                    : Future.succeededFuture());
  }

  // A stop in the meantime waits for it, and so finds the server to close.
  private Future<Void> open() {
    if (!stopped) {
      opening = listen();
    }
    return opening;
  }

  private Future<Void> listen() {
    HttpServer old = listening;
    Future<Void> closed = old == null ? Future.succeededFuture() : old.close();
    return closed
        .otherwiseEmpty()
        .compose(v -> vertx.executeBlocking(socket::clearDraft, false))
        .compose(
            v -> vertx.createHttpServer().requestHandler(grpc()).listen(address(socket.draft())))
        .onSuccess(now -> listening = now)
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
    later();
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

  /** Why the kubelet does not know us, as far as somebody must do something about it. */
  String complaint() {
    return complaint;
  }

  private void count(String outcome) {
    metrics.count(
        "tranche.node.registrations", "Registrations with the kubelet.", "outcome", outcome);
  }

  private void later() {
    long waitMs = backoff.nextWithJitter();
    notBeforeMs = now() + waitMs;
    vertx.setTimer(waitMs + 1, id -> check());
  }

  private static long now() {
    return System.nanoTime() / 1_000_000;
  }

  /** Ends the streams and takes the socket away. */
  Future<Void> stop() {
    stopped = true;
    streams.end();
    return opening
        .otherwiseEmpty()
        .compose(v -> listening == null ? Future.<Void>succeededFuture() : listening.close())
        .otherwiseEmpty()
        .compose(v -> vertx.executeBlocking(socket::delete, false));
  }
}
