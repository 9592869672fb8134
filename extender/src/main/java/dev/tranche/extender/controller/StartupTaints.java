package dev.tranche.extender.controller;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.NodeView.Availability;
import dev.tranche.extender.watch.TaintedNode;
import dev.tranche.extender.watch.WatchedNode;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
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
  private static final Logger LOG = LoggerFactory.getLogger(StartupTaints.class);

  private final ControllerContext context;

  /** As of the last tick; metrics are read on another thread. */
  private volatile int tainted;

  public StartupTaints(ControllerContext context) {
    this.context = context;
    context
        .metrics()
        .gauge(
            "tranche.extender.startup.tainted.nodes",
            "Nodes with Tranche's startup taint, whose plugin does not serve yet.",
            () -> tainted);
  }

  /** Removes the taints of the nodes that serve. What fails is retried a second later. */
  @Override
  public void tick() {
    WatchedNodes nodes = context.nodes();
    tainted = (int) nodes.all().stream().filter(node -> node.tainted().isPresent()).count();
    nodes.forEach(node -> node.tainted().ifPresent(now -> lift(node, now)));
  }

  /**
   * Returns whether the plugin serves, and the kubelet offers what it serves: its allocatable lags
   * some seconds behind the registration, and until then, pods still wait. A node without a healthy
   * GPU serves none, since no pod can be placed there.
   */
  private boolean serves(String node, TaintedNode now) {
    SchedulingCore core = context.core();
    Set<String> resources =
        core.ledger.gpus(node).stream()
            .filter(GpuFacts::healthy)
            .map(GpuFacts::resource)
            .filter(resource -> !resource.isEmpty())
            .collect(Collectors.toSet());
    return !resources.isEmpty()
        && now.offered().containsAll(resources)
        && core.fits.nodeGpus(node, context.nowMs()).availability() == Availability.AVAILABLE;
  }

  private void lift(WatchedNode node, TaintedNode now) {
    if (serves(node.key(), now)) {
      context
          .nodes()
          .patch(
              node,
              "the startup taint",
              PatchType.JSON,
              patch(now.keys()),
              () -> LOG.info("node {} serves GPUs: removed its startup taint", node.key()));
    }
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
