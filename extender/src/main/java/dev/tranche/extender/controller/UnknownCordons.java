package dev.tranche.extender.controller;

import static java.util.stream.Collectors.toCollection;

import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.NodeView.Availability;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.snapshot.ClusterView.NodeGpus;
import dev.tranche.process.client.Events;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Writes events for nodes whose annotation cordons a GPU that they do not have. A mistyped uuid
 * leaves the GPU in use, and nothing else shows it. Confined to the event loop.
 */
public final class UnknownCordons implements Controller {
  static final String REASON = "UnknownGpuCordoned";

  /** The most uuids that one event lists. */
  private static final int UUIDS_PER_EVENT_MAX = 5;

  private final ControllerContext context;

  /** The unknown uuids by node, as of the last check. */
  private Map<String, SortedSet<String>> last = Map.of();

  public UnknownCordons(ControllerContext context) {
    this.context = context;
  }

  /**
   * Checks the nodes with that annotation. An event is written for what is unknown twice in a row,
   * since a GPU may be cordoned a moment before its node reports it.
   */
  @Override
  public void everyTenSeconds() {
    Ledger ledger = context.core().ledger;
    var found = new HashMap<String, SortedSet<String>>();
    for (String node : ledger.nodes()) {
      var unknown = new TreeSet<>(ledger.node(node).map(NodeFacts::cordoned).orElse(Set.of()));
      if (unknown.isEmpty()) {
        continue;
      }
      NodeGpus now = context.core().fits.nodeGpus(node, context.nowMs());
      var gpus = now.gpus().stream().map(GpuView::uuid).collect(toCollection(TreeSet::new));
      unknown.removeAll(gpus);
      // The GPUs of a node that does not report are not known.
      if (!unknown.isEmpty() && now.availability() == Availability.AVAILABLE) {
        found.put(node, unknown);
        if (unknown.equals(last.get(node))) {
          write(node, unknown, gpus);
        }
      }
    }
    last = found;
  }

  private void write(String node, SortedSet<String> unknown, SortedSet<String> gpus) {
    // Named by its content, so that neither another replica nor this one after a restart writes it
    // again.
    var id = Events.uuid(node + "/" + String.join(",", unknown));
    if (context.events().claim(node, id)) {
      String message =
          "the annotation %s names %s, and this node has no such GPU, so the annotation has no effect for it. The node's GPUs: %s."
              .formatted(Names.CORDON_GPUS, names(unknown), names(gpus));
      context
          .events()
          .create(id, Events.warning(ApiWriter.COMPONENT, Events.node(node), id, REASON, message));
    }
  }

  private static String names(SortedSet<String> uuids) {
    return uuids.isEmpty() ? "none" : Printable.list(uuids, UUIDS_PER_EVENT_MAX, Printable::value);
  }
}
