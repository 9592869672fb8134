package dev.tranche.extender.stream;

import dev.tranche.api.BriefReports;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.Health;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.NodeReportsGrpcService;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import io.vertx.grpc.client.GrpcClientRequest;
import io.vertx.grpc.client.GrpcClientResponse;
import io.vertx.grpc.common.GrpcMessageDecoder;
import io.vertx.grpc.common.GrpcMessageEncoder;
import io.vertx.grpc.common.ServiceMethod;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A node plugin as the extender sees it: reports, and acknowledges unless told to be deaf. */
public final class FakeNode implements AutoCloseable {
  public static final ServiceMethod<NodeDirective, NodeReport> CONNECT =
      ServiceMethod.client(
          NodeReportsGrpcService.SERVICE_NAME,
          "Connect",
          GrpcMessageEncoder.encoder(),
          GrpcMessageDecoder.decoder(NodeDirective.newBuilder()));

  /** Only ends a broken test. */
  private static final long CONNECTED_S_MAX = 60;

  public final List<NodeDirective> directives = new CopyOnWriteArrayList<>();
  public final CompletableFuture<String> ended = new CompletableFuture<>();
  private final GrpcClient client;
  private final GrpcClientRequest<NodeReport, NodeDirective> call;
  private NodeReport state;
  private volatile boolean deaf;
  private volatile Consumer<NodeDirective> hearing = directive -> {};
  private final BriefReports brief = new BriefReports();
  private int calls;
  private long sequence;

  public FakeNode(Vertx vertx, int port, String token, NodeReport first) throws Exception {
    this(vertx, null, port, token, first);
  }

  /**
   * @param from the address that it connects from; null for any
   */
  public FakeNode(Vertx vertx, @Nullable String from, int port, String token, NodeReport first)
      throws Exception {
    client =
        GrpcClient.client(
            vertx,
            new HttpClientOptions()
                .setLocalAddress(from)
                .setSsl(true)
                .setUseAlpn(true)
                .setTrustAll(true)
                .setVerifyHost(false)
                .setProtocolVersion(HttpVersion.HTTP_2));
    state = first;
    call =
        client
            .request(SocketAddress.inetSocketAddress(port, "localhost"), CONNECT)
            .toCompletionStage()
            .toCompletableFuture()
            .get(CONNECTED_S_MAX, TimeUnit.SECONDS);
    call.headers().set("authorization", "Bearer " + token);
    call.response()
        .onSuccess(
            response -> {
              response.handler(this::directed);
              response.endHandler(
                  end -> ended.complete(response.status() + " " + message(response)));
              response.exceptionHandler(e -> ended.complete(String.valueOf(e)));
            })
        .onFailure(e -> ended.complete(String.valueOf(e)));
    report(s -> s);
  }

  /** Vert.x finds it in headers only, where a call ends before it began. */
  private static @Nullable String message(GrpcClientResponse<NodeReport, NodeDirective> response) {
    String ofHeaders = response.statusMessage();
    String ofTrailers = response.trailers().get("grpc-message");
    return ofTrailers == null ? ofHeaders : URLDecoder.decode(ofTrailers, StandardCharsets.UTF_8);
  }

  private synchronized void directed(NodeDirective directive) {
    directives.add(directive);
    hearing.accept(directive);
    if (!deaf) {
      report(s -> s.setAppliedDirective(directive.getSequence()));
    }
  }

  /** Told of each directive before it is acknowledged. */
  public void hearing(Consumer<NodeDirective> by) {
    hearing = by;
  }

  public void deaf() {
    deaf = true;
  }

  public synchronized void report(UnaryOperator<NodeReport.Builder> change) {
    long now = System.currentTimeMillis();
    state = change.apply(state.toBuilder()).setSequence(++sequence).setSentAtMs(now).build();
    write(brief.of(state));
  }

  /** Reports the same once in twenty calls, so that a test may wait for long; returns true. */
  public synchronized boolean reportsOn() {
    if (++calls % 20 == 0) {
      report(same -> same);
    }
    return true;
  }

  /** As it is. */
  public synchronized void write(NodeReport report) {
    call.write(report);
  }

  public static NodeReport.Builder node(String name, Gpu.Builder... gpus) {
    var report =
        NodeReport.newBuilder()
            .setNode(name)
            .setPluginInstance("1")
            .setRegistered(true)
            .setHoldingsKnown(true);
    for (Gpu.Builder gpu : gpus) {
      report.addGpus(gpu);
    }
    return report;
  }

  public static Gpu.Builder gpu(String uuid, int index, int smPercent, long usedBytes) {
    return Gpu.newBuilder()
        .setUuid(uuid)
        .setIndex(index)
        .setModel("Tesla T4")
        .setMemoryTotalBytes(16L << 30)
        .setMemoryReservedBytes(1L << 28)
        .setResource("nvidia.com/gpu")
        .setReplicas(10)
        .setShared(true)
        .setHealth(Health.HEALTH_HEALTHY)
        .setLoad(load(smPercent, usedBytes));
  }

  public static GpuLoad.Builder load(int smPercent, long usedBytes) {
    return GpuLoad.newBuilder()
        .setSampledAtMs(System.currentTimeMillis())
        .setSmUtilizationPercent(smPercent)
        .setSmUtilizationMeanPercent(smPercent)
        .setMemoryUsedBytes(usedBytes);
  }

  public static Holding.Builder holding(
      String namespace, String pod, String container, String uuid, int replicas) {
    var holding =
        Holding.newBuilder()
            .setNamespace(namespace)
            .setPod(pod)
            .setContainer(container)
            .setResource("nvidia.com/gpu");
    for (int k = 0; k < replicas; k++) {
      holding.addDeviceIds(uuid + "::" + k);
    }
    return holding;
  }

  @Override
  public void close() {
    call.cancel();
    client.close();
  }
}
