package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.Event;
import io.vertx.core.Future;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes events for nodes whose annotation cordons a GPU that they do not have. A mistyped uuid
 * leaves the GPU in use, and nothing else shows it. Confined to the event loop.
 */
public final class UnknownCordons implements Controller {
  static final String REASON = "UnknownGpuCordoned";

  /** A node may change its own annotation. */
  public static final NodeRate.Limits RATE = NodeFindings.RATE;

  /** The most uuids that one event lists. */
  private static final int UUIDS_PER_EVENT_MAX = 5;

  private static final Logger LOG = LoggerFactory.getLogger(UnknownCordons.class);

  private final Supplier<Collection<Cordons>> nodes;
  private final Function<Event, Future<?>> writer;
  private final NodeFindings<Finding> findings;

  /**
   * A node that reports.
   *
   * @param cordoned uuids that its annotation names
   * @param gpus uuids that it has
   */
  public record Cordons(String node, Set<String> cordoned, Set<String> gpus) {}

  /** Two are equal if the same uuids are unknown. */
  private record Finding(Cordons node, SortedSet<String> unknown) {
    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Finding finding && unknown.equals(finding.unknown);
    }

    @Override
    public int hashCode() {
      return unknown.hashCode();
    }
  }

  /**
   * @param nodes those with that annotation that report
   * @param deciding whether this extender may decide at all, as a leader does
   * @param rate of events by node
   */
  public UnknownCordons(
      Supplier<Collection<Cordons>> nodes,
      Function<Event, Future<?>> writer,
      BooleanSupplier deciding,
      NodeRate rate) {
    this.nodes = nodes;
    this.writer = writer;
    findings = new NodeFindings<>(deciding, rate, (node, found) -> write(found));
  }

  /**
   * Checks the nodes with that annotation. An event is written for what is unknown twice in a row,
   * since a GPU may be cordoned a moment before its node reports it.
   */
  @Override
  public void everyTenSeconds() {
    var found = new LinkedHashMap<String, Finding>();
    for (Cordons node : nodes.get()) {
      SortedSet<String> unknown = new TreeSet<>(node.cordoned());
      unknown.removeAll(node.gpus());
      if (!unknown.isEmpty()) {
        found.put(node.node(), new Finding(node, unknown));
      }
    }
    findings.check(found);
  }

  private Future<?> write(Finding found) {
    String node = found.node().node();
    String message = message(found.node(), found.unknown());
    LOG.warn("node {}: {}", node, message);
    return writer.apply(event(node, String.join(",", found.unknown()), message));
  }

  private static String message(Cordons node, SortedSet<String> unknown) {
    return "the annotation %s names %s, and this node has no such GPU, so the annotation has no effect for it. The node's GPUs: %s."
        .formatted(Names.CORDON_GPUS, names(unknown), names(new TreeSet<>(node.gpus())));
  }

  private static String names(SortedSet<String> uuids) {
    if (uuids.isEmpty()) {
      return "none";
    }
    List<String> named = uuids.stream().limit(UUIDS_PER_EVENT_MAX).map(Printable::value).toList();
    int more = uuids.size() - named.size();
    return String.join(", ", named) + (more > 0 ? " and %d more".formatted(more) : "");
  }

  /**
   * Builds an event named by its content, so that neither another replica nor this one after a
   * restart writes it again.
   */
  private static Event event(String node, String unknown, String message) {
    return Events.warning(
        ApiWriter.COMPONENT, Events.node(node), Events.uuid(node + "/" + unknown), REASON, message);
  }
}
