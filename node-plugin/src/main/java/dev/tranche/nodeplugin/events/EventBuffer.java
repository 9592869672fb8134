package dev.tranche.nodeplugin.events;

import dev.tranche.api.Printable;
import dev.tranche.api.node.NodeEvent;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.usage.PodName;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Keeps the newest events for the reports. The extender writes them to the API server, since the
 * node has no permission to. Each event is also logged and counted. Confined to the event loop.
 */
public final class EventBuffer {
  /** Older events that no extender has seen are lost, but stay in the log. */
  public static final int KEPT_MAX = 64;

  static final int MESSAGE_CHARS_MAX = 1_000;
  private static final PodName NO_POD = new PodName("", "");
  private static final Logger LOG = LoggerFactory.getLogger(EventBuffer.class);

  private final NodeMetrics metrics;
  private final LongSupplier clockMs;
  private final Runnable changed;
  private final Deque<NodeEvent> newest = new ArrayDeque<>();
  private long lastId;

  /**
   * @param clockMs milliseconds since 1970
   * @param changed run after each event, so that a report carries it
   */
  public EventBuffer(NodeMetrics metrics, LongSupplier clockMs, Runnable changed) {
    this.metrics = metrics;
    this.clockMs = clockMs;
    this.changed = changed;
  }

  /**
   * Adds an event of the node.
   *
   * @param reason the event's reason and a metric's label, CamelCase, from a small fixed set
   * @param message a sentence that names the GPU or config
   * @param warning type Warning; else Normal
   */
  public void node(String reason, String message, boolean warning) {
    pod(NO_POD, reason, message, warning);
  }

  /** Adds an event of a pod on this node; the other parameters are those of {@link #node}. */
  public void pod(PodName pod, String reason, String message, boolean warning) {
    NodeEvent event =
        NodeEvent.newBuilder()
            .setId(++lastId)
            .setAtMs(clockMs.getAsLong())
            .setReason(reason)
            .setMessage(Printable.of(message, MESSAGE_CHARS_MAX - 1))
            .setWarning(warning)
            .setNamespace(pod.namespace())
            .setPod(pod.name())
            .build();
    newest.addLast(event);
    if (newest.size() > KEPT_MAX) {
      newest.removeFirst();
    }
    String subject = pod.equals(NO_POD) ? "node" : "pod " + pod;
    LOG.atLevel(warning ? Level.WARN : Level.INFO)
        .log("{}: {}: {}", subject, reason, event.getMessage());
    metrics.count(
        "tranche.node.events", "Kubernetes events for the node and its pods.", "reason", reason);
    changed.run();
  }

  /** Returns the events, oldest first, at most {@value #KEPT_MAX}. */
  public Collection<NodeEvent> newest() {
    return List.copyOf(newest);
  }
}
