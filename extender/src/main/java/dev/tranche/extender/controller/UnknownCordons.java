package dev.tranche.extender.controller;

import dev.tranche.api.Names;
import dev.tranche.api.Printable;
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
 * Tells of nodes whose annotation cordons a GPU that they do not have: a mistyped uuid leaves the
 * GPU in use, and nothing else shows it. Confined to the event loop.
 */
public final class UnknownCordons {
  static final String REASON = "UnknownGpuCordoned";

  /** Of one look. */
  static final int TOLD_MAX = 10;

  /** Of one node. */
  private static final int NAMED_MAX = 5;

  private static final Logger LOG = LoggerFactory.getLogger(UnknownCordons.class);

  private final Function<Event, Future<?>> writer;
  private final BooleanSupplier deciding;

  /** By node, as of the last look. */
  private Map<String, Seen> seen = new HashMap<>();

  private record Seen(Set<String> unknown, boolean told) {}

  private static final Seen UNSEEN = new Seen(Set.of(), false);

  /**
   * A node that reports.
   *
   * @param cordoned uuids that its annotation names
   * @param gpus uuids that it has
   */
  public record Cordons(String node, Set<String> cordoned, Set<String> gpus) {}

  /**
   * @param deciding whether this extender may decide at all, as a leader does
   */
  public UnknownCordons(Function<Event, Future<?>> writer, BooleanSupplier deciding) {
    this.writer = writer;
    this.deciding = deciding;
  }

  /**
   * Looks at the nodes with that annotation. What is unknown twice in a row is told: a GPU may have
   * been cordoned a moment before its node reports it.
   */
  public void look(Collection<Cordons> nodes) {
    if (!deciding.getAsBoolean()) {
      seen = new HashMap<>();
      return;
    }
    var now = new HashMap<String, Seen>();
    var due = new ArrayList<Runnable>();
    for (Cordons node : nodes) {
      SortedSet<String> unknown = new TreeSet<>(node.cordoned());
      unknown.removeAll(node.gpus());
      if (unknown.isEmpty()) {
        continue;
      }
      Seen before = seen.getOrDefault(node.node(), UNSEEN);
      boolean same = before.unknown().equals(unknown);
      boolean told = same && before.told();
      if (same && !told && due.size() < TOLD_MAX) {
        due.add(() -> tell(node, unknown));
        told = true;
      }
      now.put(node.node(), new Seen(unknown, told));
    }
    seen = now;
    due.forEach(Runnable::run);
  }

  private void tell(Cordons node, SortedSet<String> unknown) {
    String message = message(node, unknown);
    LOG.warn("node {}: {}", node.node(), message);
    writer
        .apply(event(node.node(), String.join(",", unknown), message))
        .onFailure(e -> unwritten(node.node(), unknown, e));
  }

  /** Tried again at the next look; the API server refuses one that is there already. */
  private void unwritten(String node, Set<String> unknown, Throwable failure) {
    if (failure instanceof KubernetesClientException e
        && e.getCode() == HttpURLConnection.HTTP_CONFLICT) {
      return;
    }
    LOG.info("cannot write an event for node {}, will retry: {}", node, failure.toString());
    seen.computeIfPresent(
        node, (same, now) -> now.unknown().equals(unknown) ? new Seen(unknown, false) : now);
  }

  private static String message(Cordons node, SortedSet<String> unknown) {
    return "the annotation %s names %s, and this node has no such GPU, so that cordons nothing. It has %s."
        .formatted(Names.CORDON_GPUS, names(unknown), names(new TreeSet<>(node.gpus())));
  }

  private static String names(SortedSet<String> uuids) {
    if (uuids.isEmpty()) {
      return "none";
    }
    List<String> named = uuids.stream().limit(NAMED_MAX).map(Printable::value).toList();
    int more = uuids.size() - named.size();
    return String.join(", ", named) + (more > 0 ? " and %d more".formatted(more) : "");
  }

  /**
   * Named by what it says: another replica, or this one after a restart, writes it no second time.
   */
  private static Event event(String node, String unknown, String message) {
    return Events.warning(Events.node(node), Events.uuid(node + "/" + unknown), REASON, message);
  }
}
