package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.limit.NodeRate;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.vertx.core.Future;
import java.net.HttpURLConnection;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes events for nodes whose annotation cordons a GPU that they do not have. A mistyped uuid
 * leaves the GPU in use, and nothing else shows it. Confined to the event loop.
 */
public final class UnknownCordons {
  static final String REASON = "UnknownGpuCordoned";

  /** The most events per check. */
  static final int EVENTS_PER_CHECK_MAX = 10;

  /** A node may change its own annotation. */
  public static final NodeRate.Limits RATE =
      new NodeRate.Limits(5, 600_000, EVENTS_PER_CHECK_MAX, 1);

  /** The most uuids that one event lists. */
  private static final int UUIDS_PER_EVENT_MAX = 5;

  private static final Logger LOG = LoggerFactory.getLogger(UnknownCordons.class);

  private final Function<Event, Future<?>> writer;
  private final BooleanSupplier deciding;
  private final NodeRate rate;

  /** By node, as of the last check. */
  private Map<String, LastCheck> lastChecks = new HashMap<>();

  private record LastCheck(Set<String> unknown, boolean reported) {}

  private static final LastCheck UNCHECKED = new LastCheck(Set.of(), false);

  /**
   * A node that reports.
   *
   * @param cordoned uuids that its annotation names
   * @param gpus uuids that it has
   */
  public record Cordons(String node, Set<String> cordoned, Set<String> gpus) {}

  /**
   * @param deciding whether this extender may decide at all, as a leader does
   * @param rate of events by node
   */
  public UnknownCordons(
      Function<Event, Future<?>> writer, BooleanSupplier deciding, NodeRate rate) {
    this.rate = rate;
    this.writer = writer;
    this.deciding = deciding;
  }

  /**
   * Checks the nodes with that annotation. An event is written for what is unknown twice in a row,
   * since a GPU may be cordoned a moment before its node reports it.
   */
  public void check(Collection<Cordons> nodes) {
    if (!deciding.getAsBoolean()) {
      lastChecks = new HashMap<>();
      return;
    }
    var now = new HashMap<String, LastCheck>();
    var due = new ArrayList<Runnable>();
    for (Cordons node : nodes) {
      SortedSet<String> unknown = new TreeSet<>(node.cordoned());
      unknown.removeAll(node.gpus());
      if (unknown.isEmpty()) {
        continue;
      }
      LastCheck before = lastChecks.getOrDefault(node.node(), UNCHECKED);
      boolean same = before.unknown().equals(unknown);
      boolean reported = same && before.reported();
      if (same && !reported && due.size() < EVENTS_PER_CHECK_MAX && rate.tryAcquire(node.node())) {
        due.add(() -> writeEvent(node, unknown));
        reported = true;
      }
      now.put(node.node(), new LastCheck(unknown, reported));
    }
    lastChecks = now;
    due.forEach(Runnable::run);
  }

  private void writeEvent(Cordons node, SortedSet<String> unknown) {
    String message = message(node, unknown);
    LOG.warn("node {}: {}", node.node(), message);
    writer
        .apply(event(node.node(), String.join(",", unknown), message))
        .onFailure(e -> unwritten(node.node(), unknown, e));
  }

  /**
   * Retries at the next check, unless the API server refused the event because it exists already.
   */
  private void unwritten(String node, Set<String> unknown, Throwable failure) {
    if (failure instanceof KubernetesClientException e
        && e.getCode() == HttpURLConnection.HTTP_CONFLICT) {
      return;
    }
    LOG.info("cannot write an event for node {}, will retry: {}", node, failure.toString());
    lastChecks.computeIfPresent(
        node, (same, now) -> now.unknown().equals(unknown) ? new LastCheck(unknown, false) : now);
  }

  private static String message(Cordons node, SortedSet<String> unknown) {
    return "the annotation %s names %s, and this node has no such GPU, so that cordons nothing. It has %s."
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
    return Events.warning(Events.node(node), Events.uuid(node + "/" + unknown), REASON, message);
  }
}
