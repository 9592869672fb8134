package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.TestFacts;
import io.fabric8.kubernetes.api.model.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class UnknownUuidsTest {
  private final ControllerRig rig = new ControllerRig();
  private final List<Event> created = rig.created;
  private final List<PodFacts> pods = new ArrayList<>();
  private final List<String> uuids = new ArrayList<>(List.of("GPU-A", "GPU-b"));
  private final MistakeEvents events = new MistakeEvents(rig.context);
  private final PodScan controller =
      new PodScan(
          rig.context,
          () -> pods,
          PodRules.unknownUuid(
              () -> uuids.stream().map(uuid -> TestFacts.gpu(uuid, 0, 10, 1L << 30))),
          events);

  private void pod(String name, String list) {
    pods.add(TestFacts.pod(name, null, Map.of(Names.GPU_UUID, list)));
  }

  /** As many as are looked at in two turns, for a minute. Each is looked at every 20 s. */
  private void manyPods(String list) {
    for (int i = 0; i < 2 * PodRules.UUID_PODS_MAX; i++) {
      pod("p-%05d".formatted(i), list);
    }
    for (int i = 0; i < 6; i++) {
      controller.everyTenSeconds();
      rig.world.nowMs += 10_000;
    }
  }

  private void minutes(int count) {
    for (int i = 0; i < count * 6; i++) {
      controller.everyTenSeconds();
      events.tick();
      rig.world.nowMs += 10_000;
    }
  }

  @Test
  void unknownUuids_areNamedOnce_whetherTheyAllowOrExclude() {
    pod("known", "gpu-a, !GPU-B");
    pod("allows", "GPU-A,GPU-gone");
    pod("excludes", "!GPU-typo");
    minutes(5);
    assertThat(created).extracting(Event::getReason).containsOnly("UnknownGpuRequested");
    assertThat(created)
        .extracting(Event::getMessage)
        .containsExactlyInAnyOrder(
            "tranche.dev/gpu-uuid names gpu-gone, which no node reports, so that it has no effect."
                + " Correct it: kubectl tranche top gpus -o wide lists the uuids.",
            "tranche.dev/gpu-uuid names !gpu-typo, which no node reports, so that it has no effect."
                + " Correct it: kubectl tranche top gpus -o wide lists the uuids.");
  }

  @Test
  void nodeThatRestarts_causesNoEvent() {
    pod("p", "GPU-A");
    uuids.remove("GPU-A");
    controller.everyTenSeconds();
    rig.world.nowMs += PodRules.UNKNOWN_UUID_AFTER_MS - 1;
    uuids.add("GPU-A");
    minutes(3);
    assertThat(created).isEmpty();
  }

  /** Each pod's list is parsed anew, on the loop that decides about all pods. */
  @Test
  void manyPods_areLookedAtInTurns_andAllAreTold() {
    manyPods("GPU-typo");
    for (int told : List.of(PodRules.UUID_PODS_MAX, 2 * PodRules.UUID_PODS_MAX)) {
      controller.everyTenSeconds();
      rig.world.nowMs += 10_000;
      writeAll();
      assertThat(created).hasSize(told);
    }
    assertThat(created)
        .extracting(event -> event.getInvolvedObject().getUid())
        .doesNotHaveDuplicates();
  }

  @Test
  void podsThatAreGone_orNameAGpuThatIsBack_beginAnew() {
    manyPods("GPU-late");
    PodFacts last = pods.removeLast();
    controller.everyTenSeconds();
    pods.addLast(last);
    rig.world.nowMs += 10_000;
    controller.everyTenSeconds();
    writeAll();
    assertThat(created)
        .as("the one that was away is found for the first time")
        .hasSize(2 * PodRules.UUID_PODS_MAX - 1);
    uuids.add("GPU-late");
    controller.everyTenSeconds();
    controller.everyTenSeconds();
    uuids.remove("GPU-late");
    rig.world.nowMs += PodRules.UNKNOWN_UUID_AFTER_MS;
    controller.everyTenSeconds();
    controller.everyTenSeconds();
    writeAll();
    assertThat(created).as("they begin anew").hasSize(2 * PodRules.UUID_PODS_MAX - 1);
    rig.world.nowMs += PodRules.UNKNOWN_UUID_AFTER_MS;
    controller.everyTenSeconds();
    controller.everyTenSeconds();
    writeAll();
    assertThat(created).as("all are told again").hasSize(4 * PodRules.UUID_PODS_MAX - 1);
  }

  private void writeAll() {
    for (int i = 0; i < MistakeEvents.KNOWN_MAX / MistakeEvents.PER_TICK_MAX; i++) {
      events.tick();
    }
  }
}
