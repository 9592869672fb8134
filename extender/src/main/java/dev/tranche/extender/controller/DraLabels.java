package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.extender.watch.DraNodes;
import dev.tranche.extender.watch.WatchedNode;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Labels the nodes whose GPUs a DRA driver serves: to the webhook they are foreign nodes. The label
 * is ours alone. Confined to the Ledger's loop.
 *
 * @param served the nodes with devices of a driver, as {@link DraNodes} says
 */
public record DraLabels(ControllerContext context, Supplier<Optional<Set<String>>> served)
    implements Controller {
  private static final Logger LOG = LoggerFactory.getLogger(DraLabels.class);

  /** Follows the nodes, classes and slices, and retries refused patches. */
  @Override
  public void everyTenSeconds() {
    if (context.deciding()) {
      served.get().ifPresent(known -> context.nodes().forEach(node -> label(node, known)));
    }
  }

  /** A node whose allocatable has one of our resources is served by a device plugin. */
  private void label(WatchedNode node, Set<String> known) {
    boolean wanted = !node.facts().advertises() && known.contains(node.key());
    if (wanted != Names.DRA.equals(node.labels().get(Names.SERVED_BY))) {
      String label = wanted ? Names.DRA : "";
      context
          .nodes()
          .patch(
              node,
              Names.SERVED_BY,
              Map.of(Names.SERVED_BY, label),
              Map.of(),
              () -> LOG.info("node {}: {} is \"{}\"", node.key(), Names.SERVED_BY, label));
    }
  }
}
