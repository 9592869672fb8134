package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.watch.GpuLabels.Contradiction;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ContradictingLabelsTest {
  private static final List<Contradiction> REPLICAS =
      List.of(new Contradiction("nvidia.com/gpu.replicas", "1", "10"));

  /** As an API server stores it after a patch of Node Feature Discovery's. */
  private static final String NODE =
      """
      apiVersion: v1
      kind: Node
      metadata:
        name: a
        labels: {nvidia.com/gpu.replicas: "1", nvidia.com/cuda.driver.major: "580"}
        managedFields:
        - {manager: kubelet, operation: Update, fieldsType: FieldsV1, fieldsV1: {f:metadata: {f:labels: {.: {}, f:zone: {}}}}}
        - {manager: tranche-extender, operation: Update, fieldsType: FieldsV1, fieldsV1: {f:metadata: {f:labels: {f:nvidia.com/gpu.present: {}}}}}
        - {manager: nfd-master, operation: Update, fieldsType: FieldsV1, fieldsV1: {f:metadata: {f:labels: {f:nvidia.com/gpu.replicas: {}}}}}
        - {manager: kubelet, operation: Update, subresource: status, fieldsType: FieldsV1, fieldsV1: {f:status: {}}}
      """;

  private final List<Event> created = new ArrayList<>();
  private final List<String> read = new ArrayList<>();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private Future<Node> node = Future.succeededFuture(Serialization.unmarshal(NODE, Node.class));
  private boolean deciding = true;
  private Map<String, List<Contradiction>> contradictions = Map.of();
  private long nowMs;
  private final ContradictingLabels labels =
      new ContradictingLabels(
          () -> contradictions,
          name -> {
            read.add(name);
            return node;
          },
          event -> {
            created.add(event);
            return Future.succeededFuture();
          },
          () -> deciding,
          new NodeRate(
              "label-events",
              ContradictingLabels.RATE,
              () -> nowMs,
              new ExtenderMetrics(new SimpleMeterRegistry())),
          new ExtenderMetrics(registry));

  private void check(List<Contradiction> found) {
    contradictions = Map.of("a", found);
    labels.everyTenSeconds();
  }

  @Test
  void contradiction_isToldOnce_withItsWriterAndTheCure() throws IOException {
    check(REPLICAS);
    assertThat(created).as("a label may change a moment before the report").isEmpty();
    check(REPLICAS);
    check(REPLICAS);
    assertThat(created).hasSize(1);
    Event event = created.getFirst();
    assertThat(event.getType()).isEqualTo("Warning");
    assertThat(event.getInvolvedObject().getKind()).isEqualTo("Node");
    assertThat(event.getInvolvedObject().getName()).isEqualTo("a");
    assertThat(event.getMessage())
        .contains("nvidia.com/gpu.replicas=1 (reported: 10), written by nfd-master.")
        .contains("Tranche decides by tranche.dev/replicas-per-gpu. Pods")
        .contains("spec.devicePlugin.config");
    assertThat(Files.readString(Path.of("../docs/errors.md")))
        .contains("| `" + event.getReason() + "` |");
    assertThat(read).as("reads of whole nodes").hasSize(1);
    assertThat(registry.get("tranche.extender.contradicted.label.nodes").gauge().value())
        .isEqualTo(1);
    contradictions = Map.of();
    labels.everyTenSeconds();
    assertThat(registry.get("tranche.extender.contradicted.label.nodes").gauge().value()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "nvidia.com/gpu.count, Tranche decides by tranche.dev/gpus. Pods",
    "nvidia.com/gpu.memory, Tranche decides by tranche.dev/gpu-memory-usable-mib. Pods",
    "nvidia.com/gpu.sharing-strategy, Tranche decides by tranche.dev/sharing-strategy. Pods",
    "nvidia.com/gpu.product, written by an unknown program. Pods",
    "nvidia.com/mps.capable, written by an unknown program. Pods"
  })
  void labelThatDecides_isTheOneOfThatContradiction(String label, String said) {
    check(List.of(new Contradiction(label, "1", "10")));
    check(List.of(new Contradiction(label, "1", "10")));
    assertThat(created.getFirst().getMessage()).contains(said);
  }

  @Test
  void writerWithoutDiscovery_isNamed_withTheCommand() {
    String byHand = NODE.replace(", nvidia.com/cuda.driver.major: \"580\"", "");
    node =
        Future.succeededFuture(
            Serialization.unmarshal(byHand.replace("nfd-master", "kubectl-label"), Node.class));
    check(REPLICAS);
    check(REPLICAS);
    assertThat(created.getFirst().getMessage())
        .contains("written by kubectl-label.")
        .contains("kubectl label node a nvidia.com/gpu.replicas-");
  }

  @Test
  void nodeWithoutManagedFields_isToldAllTheSame() {
    node =
        Future.succeededFuture(
            Serialization.unmarshal("apiVersion: v1\nkind: Node\nmetadata: {name: a}", Node.class));
    check(REPLICAS);
    check(REPLICAS);
    assertThat(created.getFirst().getMessage()).contains("written by an unknown program.");
  }

  @Test
  void nodeThatCannotBeRead_isTriedAgain() {
    Future<Node> readable = node;
    node = Future.failedFuture("away");
    check(REPLICAS);
    check(REPLICAS);
    assertThat(created).isEmpty();
    node = readable;
    check(REPLICAS);
    assertThat(created).hasSize(1);
  }

  /** Each costs a read of a whole node and an event. */
  @Test
  void labelThatChangesAllTheTime_isToldAtARate() {
    for (int check = 0; check < 360; check++) {
      nowMs = check * 10_000L;
      check(List.of(new Contradiction("nvidia.com/gpu.replicas", "" + check / 2, "10")));
    }
    // A burst of five, and one in ten minutes.
    assertThat(created).hasSizeBetween(9, 11);
    assertThat(read).hasSameSizeAs(created);
  }

  @Test
  void extenderThatDoesNotDecide_tellsNothing() {
    deciding = false;
    check(REPLICAS);
    check(REPLICAS);
    assertThat(read).isEmpty();
    assertThat(created).isEmpty();
  }
}
