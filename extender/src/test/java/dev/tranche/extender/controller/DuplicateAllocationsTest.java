package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.PodFacts;
import io.fabric8.kubernetes.api.model.Event;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class DuplicateAllocationsTest {
  private static final String NODE = "node-1";
  private final ControllerRig rig = new ControllerRig();
  private final List<Event> created = rig.created;

  private final MistakeEvents events = new MistakeEvents(rig.context);
  private final DuplicateAllocations duplicates = new DuplicateAllocations(rig.context, events);

  @BeforeEach
  void pods() {
    rig.advertises(NODE, true);
    bound("ns", "p");
    bound("ns", "q");
  }

  private void bound(String namespace, String name) {
    PodFacts pod =
        new PodFacts(
            name + "-1",
            namespace,
            name,
            NODE,
            false,
            true,
            Names.RESOURCE,
            List.of(new Demand.Request("main", Demand.Kind.APP, 2)),
            Map.of());
    rig.world.state.apply(new dev.tranche.extender.ledger.Event.PodSeen(pod));
  }

  @Test
  void replicaOfTwoPods_isToldOnBoth_once() throws IOException {
    report(held("p", "main", "GPU-0::1", "GPU-0::2"), held("q", "main", "GPU-0::2", "GPU-0::3"));
    assertThat(created).as("the watch may lag").isEmpty();
    for (int i = 0; i < 5; i++) {
      rig.world.nowMs += DuplicateAllocations.AFTER_MS;
      report(held("p", "main", "GPU-0::1", "GPU-0::2"), held("q", "main", "GPU-0::2", "GPU-0::3"));
    }
    assertThat(created)
        .extracting(event -> event.getInvolvedObject().getUid())
        .containsExactlyInAnyOrder("p-1", "q-1");
    Event ofP =
        created.stream().filter(e -> message(e).contains("pod ns/q")).findFirst().orElseThrow();
    assertThat(ofP.getInvolvedObject().getName()).isEqualTo("p");
    assertThat(message(ofP)).contains("replica GPU-0::2", "node node-1");
    assertThat(duplicated()).isEqualTo(2);
    assertThat(Files.readString(Path.of("../docs/errors.md")))
        .contains("| `" + PodMistake.ALLOCATED_TWICE.reason + "` |");
  }

  /** Whoever reads the events of one namespace may know nothing of the other one. */
  @Test
  void podOfAnotherNamespace_isNotNamed() {
    bound("secret", "model-x");
    for (int i = 0; i < 2; i++) {
      report(
          held("p", "main", "GPU-0::1"),
          Holding.newBuilder(held("model-x", "main", "GPU-0::1")).setNamespace("secret").build());
      rig.world.nowMs += DuplicateAllocations.AFTER_MS;
    }
    assertThat(created)
        .extracting(event -> event.getInvolvedObject().getUid())
        .containsExactlyInAnyOrder("p-1", "model-x-1");
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
    rig.world.nowMs += DuplicateAllocations.AFTER_MS;
    report(held("p", "main", "GPU-0::1"), held("q", "main", "GPU-0::1"));
    assertThat(duplicated()).isEqualTo(2);
    report(held("p", "main", "GPU-0::1"));
    assertThat(duplicated()).isZero();
  }

  /** A kubelet may list pods that have ended. An init container's replicas go to the next. */
  @Test
  void endedPods_andContainersOfOnePod_areNoDuplicates() {
    rig.world.state.apply(new dev.tranche.extender.ledger.Event.PodGone("q-1", "ns/q"));
    for (int i = 0; i < 3; i++) {
      rig.world.nowMs += DuplicateAllocations.AFTER_MS;
      report(
          held("p", "init", "GPU-0::1"),
          held("p", "main", "GPU-0::1"),
          held("q", "main", "GPU-0::1"));
    }
    assertThat(created).isEmpty();
    assertThat(duplicated()).isZero();
  }

  /** Each flip would be one more call of the API server. */
  @Test
  void nodeThatFlipsItsList_causesCallsAtARate() {
    for (int i = 0; i < 600; i++) {
      report(held("p", "main", "GPU-0::1"), held("q", "main", "GPU-0::1"));
      rig.world.nowMs += DuplicateAllocations.AFTER_MS;
      report(held("p", "main", "GPU-0::1"), held("q", "main", "GPU-0::1"));
      report();
    }
    assertThat(created.size()).isLessThanOrEqualTo(64 + 600);
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

  private double duplicated() {
    return rig.mistaken(PodMistake.ALLOCATED_TWICE);
  }
}
