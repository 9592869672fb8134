package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.extender.watch.WatchedNode;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Labels the nodes whose GPUs a DRA driver serves: to the webhook they are foreign nodes. The label
 * is ours alone. Confined to the Ledger's loop.
 */
public final class DraLabels implements Controller {
  private static final Logger LOG = LoggerFactory.getLogger(DraLabels.class);

  private final ControllerContext context;
  private final Supplier<Optional<Set<String>>> served;
  private final Map<String, LastWatched> nodes = new HashMap<>();

  /**
   * @param advertises whether its allocatable has one of our resources, so that a device plugin
   *     serves it
   */
  private record LastWatched(String resourceVersion, boolean labelled, boolean advertises) {}

  /**
   * @param served the nodes with devices of a driver, as {@link DraNodes} says
   */
  public DraLabels(ControllerContext context, Supplier<Optional<Set<String>>> served) {
    this.context = context;
    this.served = served;
  }

  @Override
  public void nodeSeen(WatchedNode node) {
    boolean labelled = Names.DRA.equals(node.labels().get(Names.SERVED_BY));
    nodes.put(
        node.key(), new LastWatched(node.resourceVersion(), labelled, node.facts().advertises()));
  }

  @Override
  public void nodeGone(String node) {
    nodes.remove(node);
  }

  /** Follows the nodes, classes and slices, and retries refused patches. */
  @Override
  public void everyTenSeconds() {
    if (context.deciding()) {
      served
          .get()
          .ifPresent(known -> nodes.forEach((node, watched) -> label(node, watched, known)));
    }
  }

  private void label(String node, LastWatched watched, Set<String> known) {
    boolean wanted = !watched.advertises() && known.contains(node);
    if (wanted == watched.labelled() || !context.rate().tryAcquire(node)) {
      return;
    }
    String label = wanted ? Names.DRA : "";
    context
        .api()
        .patchNode(
            node,
            PatchType.JSON_MERGE,
            NodePatch.of(watched.resourceVersion(), Map.of(Names.SERVED_BY, label), Map.of()))
        .onSuccess(
            done -> LOG.info("node {}: label {} is now \"{}\"", node, Names.SERVED_BY, label))
        .onFailure(
            e ->
                LOG.info(
                    "cannot write label {} of node {}, will retry: {}",
                    Names.SERVED_BY,
                    node,
                    e.toString()));
  }
}
