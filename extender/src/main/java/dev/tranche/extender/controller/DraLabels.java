package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.watch.WatchedNode;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Labels the nodes whose GPUs a DRA driver serves: to the webhook they are foreign nodes. The label
 * is ours alone. Confined to the Ledger's loop.
 */
public final class DraLabels implements Controller {
  /** A node changes between a device plugin and DRA a few times in its life. */
  public static final NodeRate.Limits RATE = new NodeRate.Limits(4, 60_000, 256, 50);

  private static final Logger LOG = LoggerFactory.getLogger(DraLabels.class);

  private final Supplier<Optional<Set<String>>> served;
  private final NodePatcher patcher;
  private final BooleanSupplier deciding;
  private final NodeRate rate;
  private final Map<String, LastWatched> nodes = new HashMap<>();

  /**
   * @param advertises whether its allocatable has one of our resources, so that a device plugin
   *     serves it
   */
  private record LastWatched(String resourceVersion, boolean labelled, boolean advertises) {}

  /**
   * @param served the nodes with devices of a driver, as {@link DraNodes} says
   * @param deciding whether this extender may decide at all, as a leader does
   */
  public DraLabels(
      Supplier<Optional<Set<String>>> served,
      NodePatcher patcher,
      BooleanSupplier deciding,
      NodeRate rate) {
    this.served = served;
    this.patcher = patcher;
    this.deciding = deciding;
    this.rate = rate;
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
    if (deciding.getAsBoolean()) {
      served
          .get()
          .ifPresent(known -> nodes.forEach((node, watched) -> label(node, watched, known)));
    }
  }

  private void label(String node, LastWatched watched, Set<String> known) {
    boolean wanted = !watched.advertises() && known.contains(node);
    if (wanted == watched.labelled() || !rate.tryAcquire(node)) {
      return;
    }
    String label = wanted ? Names.DRA : "";
    patcher
        .patch(
            node, NodePatch.of(watched.resourceVersion(), Map.of(Names.SERVED_BY, label), Map.of()))
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
