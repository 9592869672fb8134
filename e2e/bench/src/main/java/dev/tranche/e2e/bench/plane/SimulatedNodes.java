package dev.tranche.e2e.bench.plane;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.PodUse;
import io.fabric8.kubernetes.api.model.authentication.TokenRequestBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Simulates thousands of node plugins. Each has its own connection, and a token that the API server
 * has bound to its node. Each reports every five seconds, spread evenly.
 */
public final class SimulatedNodes implements AutoCloseable {
  /**
   * The namespace of {@link #SERVICE_ACCOUNT}: the extender's {@code
   * --node-plugin-service-account}.
   */
  public static final String NAMESPACE = "tranche";

  public static final String SERVICE_ACCOUNT = "tranche-node-plugin";

  private static final String AUDIENCE = "tranche-extender";
  private static final long HEARTBEAT_MS = 5_000;
  private static final long TICK_MS = 10;
  private static final int OPENED_AT_ONCE = 32;
  private static final int ATTEMPTS_MAX = 5;
  private static final long RETRY_MS = 1_000;

  private final Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
  private final Context loop = vertx.getOrCreateContext();
  private final Map<String, SimulatedNode> nodes = new ConcurrentHashMap<>();
  private final List<SimulatedNode> inTurn = new ArrayList<>();
  private final List<GrpcClient> connections = new ArrayList<>();
  private int next;
  private long reported;

  /**
   * Opens all streams, and returns when the extender has accepted every node.
   *
   * @param gpus the GPUs of each node
   */
  public SimulatedNodes(KubernetesClient client, int extenderPort, Map<String, List<Gpu>> gpus) {
    Map<String, String> tokens = tokens(client, gpus.keySet());
    // Reports begin first: an extender closes idle streams, and opening thousands takes a while.
    loop.runOnContext(start -> vertx.setPeriodic(TICK_MS, tick -> heartbeat()));
    var opening = new ArrayList<Future<Void>>();
    for (var entry : gpus.entrySet()) {
      var node = new SimulatedNode(entry.getKey(), entry.getValue());
      nodes.put(entry.getKey(), node);
      opening.add(open(node, extenderPort, String.valueOf(tokens.get(entry.getKey()))));
      if (opening.size() == OPENED_AT_ONCE) {
        join(Future.all(opening));
        opening.clear();
      }
    }
    if (!opening.isEmpty()) {
      join(Future.all(opening));
    }
  }

  private Future<Void> open(SimulatedNode node, int port, String token) {
    var opened = Promise.<Void>promise();
    loop.runOnContext(
        go -> {
          var connection = GrpcClient.client(vertx, options());
          connections.add(connection);
          inTurn.add(node);
          connect(node, connection, port, token, 1).onComplete(opened);
        });
    return opened.future();
  }

  /** Retries a failed connection, as a plugin does when an extender is busy. */
  private Future<Void> connect(
      SimulatedNode node, GrpcClient connection, int port, String token, int attempt) {
    return node.connect(connection, SocketAddress.inetSocketAddress(port, "localhost"), token)
        .recover(
            failed ->
                attempt == ATTEMPTS_MAX
                    ? Future.failedFuture(failed)
                    : vertx
                        .timer(RETRY_MS, TimeUnit.MILLISECONDS)
                        .compose(due -> connect(node, connection, port, token, attempt + 1)));
  }

  /** Accepts any certificate, because the control plane makes its own. */
  private static HttpClientOptions options() {
    return new HttpClientOptions()
        .setSsl(true)
        .setUseAlpn(true)
        .setTrustAll(true)
        .setVerifyHost(false)
        .setProtocolVersion(HttpVersion.HTTP_2);
  }

  /** Requests a token for each node, as the kubelet does for the plugin's pod. */
  private static Map<String, String> tokens(KubernetesClient client, Iterable<String> nodes) {
    var tokens = new ConcurrentHashMap<String, String>();
    try (var workers = Executors.newFixedThreadPool(8)) {
      nodes.forEach(node -> workers.execute(() -> tokens.put(node, token(client, node))));
    }
    return tokens;
  }

  private static String token(KubernetesClient client, String node) {
    var request =
        new TokenRequestBuilder()
            .withNewSpec()
            .withAudiences(AUDIENCE)
            .withExpirationSeconds(TimeUnit.HOURS.toSeconds(2))
            .withNewBoundObjectRef()
            .withApiVersion("v1")
            .withKind("Node")
            .withName(node)
            .endBoundObjectRef()
            .endSpec()
            .build();
    return client
        .serviceAccounts()
        .inNamespace(NAMESPACE)
        .withName(SERVICE_ACCOUNT)
        .tokenRequest(request)
        .getStatus()
        .getToken();
  }

  private void heartbeat() {
    long due = inTurn.size() * TICK_MS;
    for (reported += due; reported >= HEARTBEAT_MS; reported -= HEARTBEAT_MS) {
      inTurn.get(next).report();
      next = (next + 1) % inTurn.size();
    }
  }

  /** Sets the load of a GPU and the use of each container, for the node's next report. */
  public void load(String node, String uuid, GpuLoad load, List<PodUse> uses) {
    on(node, of -> of.load(uuid, load, uses));
  }

  /** Makes the kubelet admit a pod, whoever assigned it. */
  public void hold(String node, Assignment assignment) {
    on(node, of -> of.hold(assignment));
  }

  /** Ends a pod, which the kubelet then no longer lists. */
  public void endPod(String node, String podUid) {
    on(node, of -> of.endPod(podUid));
  }

  public void report(String node) {
    on(node, SimulatedNode::report);
  }

  private void on(String node, java.util.function.Consumer<SimulatedNode> action) {
    SimulatedNode of = nodes.get(node);
    if (of == null) {
      throw new IllegalArgumentException("no node " + node);
    }
    loop.runOnContext(go -> action.accept(of));
  }

  private static void join(Future<?> future) {
    try {
      future.toCompletionStage().toCompletableFuture().get(120, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    } catch (java.util.concurrent.ExecutionException | java.util.concurrent.TimeoutException e) {
      throw new IllegalStateException("the streams of the nodes were not opened", e);
    }
  }

  @Override
  public void close() {
    join(vertx.close());
  }
}
