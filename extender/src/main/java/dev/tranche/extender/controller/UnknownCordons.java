package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.NodeView;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.snapshot.ClusterView;
import dev.tranche.process.client.Events;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes events for nodes whose annotation cordons a GPU that they do not have. A mistyped uuid
 * leaves the GPU in use, and nothing else shows it. Confined to the event loop.
 */
public final class UnknownCordons implements Controller {
  static final String REASON = "UnknownGpuCordoned";

  /** The most uuids that one event lists. */
  private static final int UUIDS_PER_EVENT_MAX = 5;

  private static final Logger LOG = LoggerFactory.getLogger(UnknownCordons.class);

  private final ControllerContext context;

  /** The unknown uuids by node, as of the last check. */
  private Map<String, SortedSet<String>> last = Map.of();

  /**
   * @param cordoned uuids that the node's annotation names
   * @param gpus uuids that it has
   */
  private record Cordons(String node, Set<String> cordoned, Set<String> gpus) {}

  public UnknownCordons(ControllerContext context) {
    this.context = context;
  }

  /**
   * Checks the nodes with that annotation. An event is written for what is unknown twice in a row,
   * since a GPU may be cordoned a moment before its node reports it.
   */
  @Override
  public void everyTenSeconds() {
    var found = new HashMap<String, SortedSet<String>>();
    for (Cordons node : cordons()) {
      SortedSet<String> unknown = new TreeSet<>(node.cordoned());
      unknown.removeAll(node.gpus());
      if (!unknown.isEmpty()) {
        found.put(node.node(), unknown);
        if (unknown.equals(last.get(node.node()))) {
          write(node, unknown);
        }
      }
    }
    last = found;
  }

  /** Returns the cordons of nodes that report; the GPUs of other nodes are not known. */
  private List<Cordons> cordons() {
    Ledger ledger = context.core().ledger;
    var cordons = new ArrayList<Cordons>();
    for (String node : ledger.nodes()) {
      Set<String> cordoned = ledger.node(node).map(NodeFacts::cordoned).orElse(Set.of());
      if (!cordoned.isEmpty()) {
        ClusterView.NodeGpus now = context.core().fits.nodeGpus(node, context.nowMs());
        if (now.availability() == NodeView.Availability.AVAILABLE) {
          Set<String> gpus = now.gpus().stream().map(GpuView::uuid).collect(Collectors.toSet());
          cordons.add(new Cordons(node, cordoned, gpus));
        }
      }
    }
    return cordons;
  }

  private void write(Cordons cordons, SortedSet<String> unknown) {
    String node = cordons.node();
    // Named by its content, so that neither another replica nor this one after a restart writes it
    // again.
    var id = Events.uuid(node + "/" + String.join(",", unknown));
    if (context.events().claim(node, id)) {
      String message =
          "the annotation %s names %s, and this node has no such GPU, so the annotation has no effect for it. The node's GPUs: %s."
              .formatted(Names.CORDON_GPUS, names(unknown), names(new TreeSet<>(cordons.gpus())));
      LOG.warn("node {}: {}", node, message);
      context
          .events()
          .create(id, Events.warning(ApiWriter.COMPONENT, Events.node(node), id, REASON, message));
    }
  }

  private static String names(SortedSet<String> uuids) {
    if (uuids.isEmpty()) {
      return "none";
    }
    List<String> named = uuids.stream().limit(UUIDS_PER_EVENT_MAX).map(Printable::value).toList();
    int more = uuids.size() - named.size();
    return String.join(", ", named) + (more > 0 ? " and %d more".formatted(more) : "");
  }
}
