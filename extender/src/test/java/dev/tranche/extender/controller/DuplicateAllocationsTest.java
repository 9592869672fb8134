package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class DuplicateAllocationsTest {
  private static final String NODE = "node-1";
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final ExtenderMetrics metrics = new ExtenderMetrics(registry);
  private final List<Event> created = new ArrayList<>();

  /** The pods that hold GPUs, by name, with their uids. */
  private final Map<String, String> pods = new HashMap<>(Map.of("ns/p", "p-1", "ns/q", "q-1"));

  private long nowMs;
  private final MistakeEvents events =
      new MistakeEvents(WrittenEvents.to(created), () -> true, metrics);
  private final DuplicateAllocations duplicates =
      new DuplicateAllocations(
          events,
          () -> true,
          node -> pods,
          new NodeRate("duplicates", DuplicateAllocations.RATE, () -> nowMs, metrics),
          () -> nowMs);

  @Test
  void replicaOfTwoPods_isToldOnBoth_once() throws IOException {
    report(held("p", "main", "GPU-0::1", "GPU-0::2"), held("q", "main", "GPU-0::2", "GPU-0::3"));
    assertThat(created).as("the watch may lag").isEmpty();
    for (int i = 0; i < 5; i++) {
      nowMs += DuplicateAllocations.AFTER_MS;
      report(held("p", "main", "GPU-0::1", "GPU-0::2"), held("q", "main", "GPU-0::2", "GPU-0::3"));
    }
    assertThat(created)
        .extracting(event -> event.getInvolvedObject().getUid())
        .containsExactlyInAnyOrder("p-1", "q-1");
    Event ofP =
        created.stream().filter(e -> message(e).contains("pod ns/q")).findFirst().orElseThrow();
    assertThat(ofP.getInvolvedObject().getName()).isEqualTo("p");
    assertThat(message(ofP)).contains("replica GPU-0::2", "node node-1");
    assertThat(pods()).isEqualTo(2);
    assertThat(Files.readString(Path.of("../docs/errors.md")))
        .contains("| `" + PodMistake.ALLOCATED_TWICE.reason + "` |");
  }

  /** Whoever reads the events of one namespace may know nothing of the other one. */
  @Test
  void podOfAnotherNamespace_isNotNamed() {
    pods.put("secret/model-x", "x-1");
    for (int i = 0; i < 2; i++) {
      report(
          held("p", "main", "GPU-0::1"),
          Holding.newBuilder(held("model-x", "main", "GPU-0::1")).setNamespace("secret").build());
      nowMs += DuplicateAllocations.AFTER_MS;
    }
    assertThat(created)
        .extracting(event -> event.getInvolvedObject().getUid())
        .containsExactlyInAnyOrder("p-1", "x-1");
    assertThat(created)
        .extracting(DuplicateAllocationsTest::message)
        .allSatisfy(
            message ->
                assertThat(message)
                    .contains("replica GPU-0::1", "to a pod of another namespace")
                    .contains("Delete this pod, or ask an administrator which of the two to delete")
                    .doesNotContain("secret", "model-x", "ns/", "pod p"));
  }

  @Test
  void podThatIsDeleted_endsIt() {
    report(held("p", "main", "GPU-0::1"), held("q", "main", "GPU-0::1"));
    nowMs += DuplicateAllocations.AFTER_MS;
    report(held("p", "main", "GPU-0::1"), held("q", "main", "GPU-0::1"));
    assertThat(pods()).isEqualTo(2);
    report(held("p", "main", "GPU-0::1"));
    assertThat(pods()).isZero();
  }

  /** A kubelet may list pods that have ended. An init container's replicas go to the next. */
  @Test
  void endedPods_andContainersOfOnePod_areNoDuplicates() {
    pods.remove("ns/q");
    for (int i = 0; i < 3; i++) {
      nowMs += DuplicateAllocations.AFTER_MS;
      report(
          held("p", "init", "GPU-0::1"),
          held("p", "main", "GPU-0::1"),
          held("q", "main", "GPU-0::1"));
    }
    assertThat(created).isEmpty();
    assertThat(pods()).isZero();
  }

  /** Each flip would be one more call of the API server. */
  @Test
  void nodeThatFlipsItsList_causesCallsAtARate() {
    for (int i = 0; i < 600; i++) {
      report(held("p", "main", "GPU-0::1"), held("q", "main", "GPU-0::1"));
      nowMs += DuplicateAllocations.AFTER_MS;
      report(held("p", "main", "GPU-0::1"), held("q", "main", "GPU-0::1"));
      report();
    }
    assertThat(created.size()).isLessThanOrEqualTo(32 + 600);
  }

  private void report(Holding... held) {
    duplicates.reported(
        NODE, NodeReport.newBuilder().setHoldingsKnown(true).addAllHoldings(List.of(held)).build());
    events.tick();
  }

  private static Holding held(String pod, String container, String... ids) {
    return Holding.newBuilder()
        .setNamespace("ns")
        .setPod(pod)
        .setContainer(container)
        .setResource("nvidia.com/gpu")
        .addAllDeviceIds(List.of(ids))
        .build();
  }

  private static String message(Event event) {
    return event.getMessage();
  }

  private double pods() {
    return registry.get("tranche.extender.duplicate.allocation.pods").gauge().value();
  }
}
