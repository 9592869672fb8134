package dev.tranche.extender.controller;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.tranche.api.Printable;
import dev.tranche.api.node.NodeEvent;
import dev.tranche.api.node.NodeReport;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.EventBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.vertx.core.Future;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes what nodes report as events of the Node or of its pods. The name tells whether another
 * extender, or this one before a restart, has written it: the API server then says that it is
 * there. Confined to the Ledger's loop.
 */
public final class NodeEventWriter {
  /** Shorter than the API server keeps an event, so that none is written twice. */
  static final Duration AGE_MAX = Duration.ofMinutes(30);

  /** As many as a node ever sends at once, and as long: a node may be anybody's by now. */
  static final int EVENTS_MAX = 64;

  static final int MESSAGE_CHARS_MAX = 1_000;
  static final int REASON_CHARS_MAX = 64;

  private static final int WRITTEN_MAX = 50_000;
  private static final int NAME_CHARS_MAX = 200;
  private static final int TOO_MANY = 429;
  private static final Logger log = LoggerFactory.getLogger(NodeEventWriter.class);

  private final Function<Event, Future<?>> writer;
  private final BooleanSupplier deciding;
  private final Pods pods;
  private final Cache<String, Boolean> written =
      Caffeine.newBuilder()
          .maximumSize(WRITTEN_MAX)
          .expireAfterWrite(AGE_MAX.plus(AGE_MAX))
          .build();

  /** The pods that we know. */
  public interface Pods {
    /** Empty unless that pod ({@code namespace/pod}) is on that node. */
    Optional<String> uid(String node, String key);
  }

  /**
   * @param deciding whether this extender may decide at all, as a leader does
   * @param pods a node speaks of its own pods only, whatever it reports
   */
  public NodeEventWriter(Function<Event, Future<?>> writer, BooleanSupplier deciding, Pods pods) {
    this.writer = writer;
    this.deciding = deciding;
    this.pods = pods;
  }

  public void reported(String node, NodeReport report) {
    if (report.getEventsCount() == 0 || !deciding.getAsBoolean()) {
      return;
    }
    List<NodeEvent> events = report.getEventsList();
    // The newest come last.
    for (NodeEvent event : events.subList(Math.max(0, events.size() - EVENTS_MAX), events.size())) {
      // Both times are the node's, so its clock may be wrong.
      boolean recent = report.getSentAtMs() - event.getAtMs() < AGE_MAX.toMillis();
      String name = name(node, report.getPluginInstance(), event.getId());
      if (recent && written.asMap().putIfAbsent(name, true) == null) {
        write(node, name, event);
      }
    }
  }

  private static String name(String node, String instance, long id) {
    String one = node + "/" + instance + "/" + id;
    return UUID.nameUUIDFromBytes(one.getBytes(StandardCharsets.UTF_8)).toString();
  }

  private void write(String node, String name, NodeEvent event) {
    Optional<Event> whole =
        event.getPod().isEmpty()
            ? Optional.of(ofNode(node, name, event))
            : pods.uid(node, event.getNamespace() + "/" + event.getPod())
                .map(uid -> ofPod(node, name, event, uid));
    whole.ifPresentOrElse(
        e -> writer.apply(e).onFailure(failure -> unwritten(node, name, failure)),
        // The informer may only be behind the node: the next whole report tells it again.
        () -> written.invalidate(name));
  }

  /** A conflict says that it is written already; what is refused once is refused again. */
  private void unwritten(String node, String name, Throwable failure) {
    int code = failure instanceof KubernetesClientException e ? e.getCode() : 0;
    if (code < 400 || code >= 500 || code == TOO_MANY) {
      log.info(
          "cannot write an event of node {} until its next full report: {}",
          node,
          failure.toString());
      written.invalidate(name);
    }
  }

  /** As the kubelet's are: in the default namespace, the node's name for a uid. */
  private static Event ofNode(String node, String name, NodeEvent event) {
    return filled(node, event)
        .withNewMetadata()
        .withNamespace("default")
        .withName(cut(node) + "." + name)
        .endMetadata()
        .withNewInvolvedObject()
        .withApiVersion("v1")
        .withKind("Node")
        .withName(node)
        .withUid(node)
        .endInvolvedObject()
        .build();
  }

  private static Event ofPod(String node, String name, NodeEvent event, String uid) {
    return filled(node, event)
        .withNewMetadata()
        .withNamespace(event.getNamespace())
        .withName(cut(event.getPod()) + "." + name)
        .endMetadata()
        .withNewInvolvedObject()
        .withApiVersion("v1")
        .withKind("Pod")
        .withNamespace(event.getNamespace())
        .withName(event.getPod())
        .withUid(uid)
        .endInvolvedObject()
        .build();
  }

  private static String cut(String name) {
    return cut(name, NAME_CHARS_MAX);
  }

  private static String cut(String text, int charsMax) {
    return text.length() <= charsMax ? text : text.substring(0, charsMax);
  }

  private static EventBuilder filled(String node, NodeEvent event) {
    String at = Instant.ofEpochMilli(event.getAtMs()).truncatedTo(ChronoUnit.SECONDS).toString();
    return new EventBuilder()
        .withType(event.getWarning() ? "Warning" : "Normal")
        .withReason(cut(event.getReason(), REASON_CHARS_MAX))
        .withMessage(Printable.of(event.getMessage(), MESSAGE_CHARS_MAX - 1))
        .withNewSource()
        .withComponent("tranche-node-plugin")
        .withHost(node)
        .endSource()
        .withFirstTimestamp(at)
        .withLastTimestamp(at)
        .withCount(1);
  }
}
