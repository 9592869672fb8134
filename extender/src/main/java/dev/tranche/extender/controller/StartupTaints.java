package dev.tranche.extender.controller;

import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.Health;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.watch.TaintedNode;
import dev.tranche.extender.watch.WatchedNode;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.Future;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes the startup taint of nodes whose plugin serves: it has registered with the kubelet, the
 * kubelet offers what it registered, and its reports arrive. Until then an autoscaler counts the
 * node as still starting, and no pod can be scheduled to it.
 *
 * <p>Each extender that may decide does so. The patch tests for the taint that it removes, so that
 * the second of two equal ones is refused. Confined to the Ledger's loop.
 */
public final class StartupTaints implements Controller {
  /** A node reports every 5 s at least. */
  static final long FRESH_MS = 15_000;

  private static final Logger LOG = LoggerFactory.getLogger(StartupTaints.class);

  private final ControllerContext context;
  private final Map<String, TaintedNode> tainted = new HashMap<>();
  private final Map<String, Serving> serving = new HashMap<>();
  private final Set<String> underWay = new HashSet<>();
  private final Counter lifted;
  private final Counter failed;

  /** The resources that a node's healthy GPUs are advertised as, by its last report. */
  private record Serving(Set<String> resources, long atMs) {}

  public StartupTaints(ControllerContext context) {
    this.context = context;
    ExtenderMetrics metrics = context.metrics();
    this.lifted = lifts(metrics, "lifted");
    this.failed = lifts(metrics, "failed");
    metrics.gauge(
        "tranche.extender.startup.tainted.nodes",
        "Nodes with Tranche's startup taint, whose plugin does not serve yet.",
        tainted::size);
  }

  private static Counter lifts(ExtenderMetrics metrics, String outcome) {
    return metrics.counter(
        "tranche.extender.startup.taint.lifts",
        "Attempts to remove the startup taint from a node whose plugin serves.",
        "outcome",
        outcome);
  }

  @Override
  public void nodeSeen(WatchedNode node) {
    String name = node.key();
    node.tainted().ifPresentOrElse(now -> tainted.put(name, now), () -> nodeGone(name));
    removeIfServing(name);
  }

  /** The node is gone, or its startup taint. */
  @Override
  public void nodeGone(String node) {
    tainted.remove(node);
    serving.remove(node);
  }

  /** Handles a node's report; most nodes don't have the taint. */
  @Override
  public void reported(String node, NodeReport report) {
    if (!tainted.containsKey(node)) {
      return;
    }
    Set<String> resources = servedResources(report);
    if (resources.isEmpty()) {
      serving.remove(node);
    } else {
      serving.put(node, new Serving(resources, context.nowMs()));
      removeIfServing(node);
    }
  }

  /** Handles a brief report: the GPUs are the same as before. */
  @Override
  public void reportedAgain(String node) {
    Serving known = serving.get(node);
    if (known != null) {
      serving.put(node, new Serving(known.resources(), context.nowMs()));
      removeIfServing(node);
    }
  }

  /**
   * Returns the resources that the plugin serves. A node without a healthy GPU serves none, since
   * no pod can be placed there.
   */
  private static Set<String> servedResources(NodeReport report) {
    if (!report.getRegistered() || report.getDraining()) {
      return Set.of();
    }
    return report.getGpusList().stream()
        .filter(gpu -> gpu.getHealth() == Health.HEALTH_HEALTHY)
        .map(Gpu::getResource)
        .filter(resource -> !resource.isEmpty())
        .collect(Collectors.toUnmodifiableSet());
  }

  /**
   * Removes the taint if the plugin serves. A failure is retried at the next report, within
   * seconds.
   */
  private void removeIfServing(String node) {
    TaintedNode now = tainted.get(node);
    Serving known = serving.get(node);
    if (now == null || known == null || underWay.contains(node) || !context.deciding()) {
      return;
    }
    boolean fresh = context.nowMs() - known.atMs() <= FRESH_MS;
    // The kubelet's allocatable lags some seconds behind the registration; until then, pods still
    // wait.
    if (fresh && now.offered().containsAll(known.resources()) && context.rate().tryAcquire(node)) {
      lift(node, now);
    }
  }

  private void lift(String node, TaintedNode now) {
    Future<?> patched = context.api().patchNode(node, PatchType.JSON, patch(now.keys()));
    underWay.add(node);
    patched
        .onComplete(done -> underWay.remove(node))
        .onSuccess(
            done -> {
              lifted.increment();
              nodeGone(node);
              LOG.info("node {} serves GPUs: removed its startup taint", node);
            })
        .onFailure(
            e -> {
              failed.increment();
              LOG.info(
                  "cannot remove the startup taint of node {}, will retry: {}", node, e.toString());
            });
  }

  /**
   * Builds a patch that removes our taints, the last one first, so that the indices of the others
   * stay valid. Each removal is preceded by a test. If the list has changed, the API server refuses
   * the whole patch, and no change by others is overwritten.
   */
  private static String patch(List<String> keys) {
    var operations = new JsonArray();
    for (int i = keys.size() - 1; i >= 0; i--) {
      if (TaintedNode.KEYS.contains(keys.get(i))) {
        String place = "/spec/taints/" + i;
        operations
            .add(operation("test", place + "/key").put("value", keys.get(i)))
            .add(operation("remove", place));
      }
    }
    return operations.encode();
  }

  private static JsonObject operation(String op, String path) {
    return new JsonObject().put("op", op).put("path", path);
  }
}
