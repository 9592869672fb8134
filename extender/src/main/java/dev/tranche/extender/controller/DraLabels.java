package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.extender.dra.DraNodes;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.watch.WatchedNode;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Labels the nodes whose GPUs a DRA driver serves, so that the webhook keeps shares off them. The
 * label is ours alone. Confined to the Ledger's loop.
 */
public final class DraLabels implements Controller {
  /** A node changes between a device plugin and DRA a few times in its life. */
  public static final NodeRate.Limits RATE = new NodeRate.Limits(4, 60_000, 256, 50);

  private static final Logger LOG = LoggerFactory.getLogger(DraLabels.class);

  private final DraNodes dra;
  private final NodePatcher patcher;
  private final BooleanSupplier deciding;
  private final NodeRate rate;
  private final Map<String, LastWatched> nodes = new HashMap<>();
  private final Set<String> underWay = new HashSet<>();

  private record LastWatched(String resourceVersion, @Nullable String label, boolean advertises) {}

  /**
   * @param deciding whether this extender may decide at all, as a leader does
   */
  public DraLabels(DraNodes dra, NodePatcher patcher, BooleanSupplier deciding, NodeRate rate) {
    this.dra = dra;
    this.patcher = patcher;
    this.deciding = deciding;
    this.rate = rate;
  }

  @Override
  public void nodeSeen(WatchedNode node) {
    seen(
        node.key(),
        node.resourceVersion(),
        node.labels().get(Names.SERVED_BY),
        node.facts().advertises());
  }

  /**
   * @param advertises whether the node's allocatable has one of our resources, so that a device
   *     plugin serves it
   */
  void seen(String node, String version, @Nullable String label, boolean advertises) {
    nodes.put(node, new LastWatched(version, label, advertises));
    reconcile(node);
  }

  @Override
  public void nodeGone(String node) {
    nodes.remove(node);
  }

  /** Follows the classes and slices, and retries refused patches. */
  @Override
  public void everyTenSeconds() {
    Set.copyOf(nodes.keySet()).forEach(this::reconcile);
  }

  private void reconcile(String node) {
    LastWatched watched = nodes.get(node);
    if (watched == null || !dra.isKnown()) {
      return;
    }
    boolean wanted = !watched.advertises() && dra.serves(node);
    boolean labelled = Names.DRA.equals(watched.label());
    if (wanted != labelled
        && !underWay.contains(node)
        && deciding.getAsBoolean()
        && rate.tryAcquire(node)) {
      write(node, watched, wanted ? Names.DRA : "");
    }
  }

  private void write(String node, LastWatched watched, String label) {
    String patch =
        NodePatch.of(watched.resourceVersion(), Map.of(Names.SERVED_BY, label), Map.of());
    underWay.add(node);
    Future<?> patched = patcher.patch(node, patch);
    patched
        .onSuccess(
            done -> LOG.info("node {}: label {} is now \"{}\"", node, Names.SERVED_BY, label))
        .onFailure(
            e ->
                LOG.info(
                    "cannot write label {} of node {}, will retry: {}",
                    Names.SERVED_BY,
                    node,
                    e.toString()))
        .onComplete(done -> underWay.remove(node));
  }
}
