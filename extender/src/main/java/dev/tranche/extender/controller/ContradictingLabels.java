package dev.tranche.extender.controller;

import static java.util.stream.Collectors.joining;

import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.watch.GpuLabels.Contradiction;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.ManagedFieldsEntry;
import io.fabric8.kubernetes.api.model.Node;
import io.vertx.core.Future;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes events for nodes with a label of NVIDIA's that the plugin's report contradicts, as GPU
 * Feature Discovery writes without the plugin's config. The label stays, since its writer would
 * write it again. The event names the writer, by the node's managed fields. Confined to the event
 * loop.
 */
public final class ContradictingLabels implements Controller {
  static final String REASON = "NodeLabelContradicted";

  /** A node may change its own labels. */
  public static final NodeRate.Limits RATE = NodeFindings.RATE;

  /** Our label that decides instead of NVIDIA's. The other labels have none. */
  private static final Map<String, String> DECIDING =
      Map.of(
          Names.LABEL_REPLICAS,
          Names.LABEL_REPLICAS_PER_GPU,
          Names.LABEL_SHARING,
          Names.LABEL_SHARING_STRATEGY,
          "nvidia.com/gpu.count",
          Names.LABEL_GPUS,
          Names.LABEL_MEMORY,
          Names.LABEL_MEMORY_USABLE);

  private static final Logger LOG = LoggerFactory.getLogger(ContradictingLabels.class);

  private final Supplier<Map<String, List<Contradiction>>> contradictions;
  private final Function<String, Future<Node>> reader;
  private final Function<Event, Future<?>> writer;
  private final NodeFindings<List<Contradiction>> findings;

  /**
   * @param contradictions by node that reports, at least one each
   * @param reader reads a whole node, with its managed fields
   * @param deciding whether this extender may decide at all, as a leader does
   * @param rate of reads and events by node
   */
  public ContradictingLabels(
      Supplier<Map<String, List<Contradiction>>> contradictions,
      Function<String, Future<Node>> reader,
      Function<Event, Future<?>> writer,
      BooleanSupplier deciding,
      NodeRate rate,
      ExtenderMetrics metrics) {
    this.contradictions = contradictions;
    this.reader = reader;
    this.writer = writer;
    findings = new NodeFindings<>(deciding, rate, this::write);
    metrics.gauge(
        "tranche.extender.contradicted.label.nodes",
        "Nodes with a label of NVIDIA's that somebody else wrote and that their node plugin's report contradicts.",
        findings::nodes);
  }

  @Override
  public void everyTenSeconds() {
    findings.check(contradictions.get());
  }

  private Future<?> write(String node, List<Contradiction> contradictions) {
    return reader.apply(node).compose(read -> write(node, contradictions, read));
  }

  private Future<?> write(String node, List<Contradiction> contradictions, Node read) {
    String message = message(node, contradictions, read);
    LOG.warn("node {}: {}", node, message);
    return writer.apply(
        Events.warning(
            ApiWriter.COMPONENT,
            Events.node(node),
            Events.uuid(node + "/" + contradictions),
            REASON,
            message));
  }

  private static String message(String node, List<Contradiction> contradictions, Node read) {
    String found =
        contradictions.stream()
            .map(c -> "%s=%s (reported: %s)".formatted(c.label(), value(c.found()), c.reported()))
            .collect(joining(", "));
    SortedSet<String> managers = managers(read, contradictions);
    return "the node plugin's report contradicts %s, written by %s.%s Pods that select by them may miss this node. %s"
        .formatted(
            found,
            managers.isEmpty() ? "an unknown program" : String.join(" and ", managers),
            whatDecides(contradictions),
            advice(node, contradictions, read));
  }

  private static String whatDecides(List<Contradiction> contradictions) {
    String labels =
        contradictions.stream()
            .flatMap(c -> Optional.ofNullable(DECIDING.get(c.label())).stream())
            .collect(joining(" and "));
    return labels.isEmpty() ? "" : " Tranche decides by " + labels + ".";
  }

  private static String advice(String node, List<Contradiction> contradictions, Node read) {
    Map<String, String> labels =
        Objects.requireNonNullElse(read.getMetadata().getLabels(), Map.of());
    if (Names.LABELS_OF_DISCOVERY.stream().anyMatch(labels::containsKey)) {
      return "Give GPU Feature Discovery the node plugin's config: under the GPU Operator, name its ConfigMap in the ClusterPolicy's spec.devicePlugin.config.";
    }
    return "Correct them where they are written, or remove them: kubectl label node %s %s"
        .formatted(node, contradictions.stream().map(c -> c.label() + "-").collect(joining(" ")));
  }

  private static String value(String text) {
    return text.isEmpty() ? "\"\"" : Printable.value(text);
  }

  /** Returns the field managers of those labels. */
  private static SortedSet<String> managers(Node node, List<Contradiction> contradictions) {
    var managers = new TreeSet<String>();
    for (ManagedFieldsEntry entry : node.getMetadata().getManagedFields()) {
      Map<?, ?> labels = child(child(fields(entry), "f:metadata"), "f:labels");
      if (contradictions.stream().anyMatch(c -> labels.containsKey("f:" + c.label()))) {
        managers.add(Printable.value(String.valueOf(entry.getManager())));
      }
    }
    return managers;
  }

  private static Map<?, ?> fields(ManagedFieldsEntry entry) {
    return entry.getFieldsV1() == null ? Map.of() : entry.getFieldsV1().getAdditionalProperties();
  }

  private static Map<?, ?> child(Map<?, ?> parent, String field) {
    return parent.get(field) instanceof Map<?, ?> child ? child : Map.of();
  }
}
