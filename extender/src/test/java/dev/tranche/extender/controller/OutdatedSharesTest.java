package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.TestFacts;
import io.fabric8.kubernetes.api.model.Event;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class OutdatedSharesTest {
  private final ControllerRig rig = new ControllerRig();
  private final List<Event> created = rig.created;
  private List<PodFacts> pending = List.of();
  private int[] replicas = {};
  private int gpusRead;
  private final MistakeEvents events = new MistakeEvents(rig.context);
  private final PodScan shares =
      new PodScan(
          rig.context,
          () -> pending,
          PodRules.outdatedShare(
              () -> {
                gpusRead++;
                return IntStream.of(replicas)
                    .mapToObj(of -> TestFacts.gpu("GPU-" + of, 0, of, 10L << 30));
              }),
          events);

  private static PodFacts pod(String name, int stamped) {
    return new PodFacts(
        "uid-" + name,
        "team-a",
        name,
        null,
        false,
        false,
        Names.RESOURCE,
        List.of(new Demand.Request("main", Demand.Kind.APP, 3)),
        stamped == 0 ? Map.of() : Map.of(Names.REPLICAS_PER_GPU, Integer.toString(stamped)));
  }

  private void look(long atMs, List<PodFacts> requesting, int... offered) {
    rig.world.nowMs = atMs;
    pending = requesting;
    replicas = offered;
    shares.everyTenSeconds();
    events.tick();
  }

  private double pods() {
    return rig.mistaken(PodMistake.OUTDATED_SHARE);
  }

  /** There are ten thousands of them. */
  @Test
  void gpus_areNotReadWhileNoPodWaits() {
    look(0, List.of(), 10);
    assertThat(gpusRead).isZero();
    look(10_000, List.of(pod("p", 10)), 10);
    assertThat(gpusRead).isOne();
  }

  @Test
  void podOfANumberThatNoNodeHas_isToldOnce_afterAWhile() throws IOException {
    List<PodFacts> pods = List.of(pod("a", 10));
    look(0, pods, 4, 2);
    look(PodRules.OUTDATED_AFTER_MS - 1, pods, 4, 2);
    assertThat(created).isEmpty();
    look(PodRules.OUTDATED_AFTER_MS, pods, 4, 2);
    look(PodRules.OUTDATED_AFTER_MS + 10_000, pods, 4, 2);
    assertThat(created).hasSize(1);
    Event event = created.getFirst();
    assertThat(event.getInvolvedObject().getUid()).isEqualTo("uid-a");
    assertThat(event.getReason()).isEqualTo("GpuReplicasChanged");
    assertThat(event.getMessage()).contains("GPUs of 10 replicas", "GPUs of 2, 4", "Delete");
    assertThat(Files.readString(Path.of("../docs/errors.md"))).contains("`GpuReplicasChanged`");
    assertThat(pods()).isEqualTo(1);
    look(PodRules.OUTDATED_AFTER_MS + 20_000, List.of(), 4, 2);
    assertThat(pods()).isZero();
  }

  @Test
  void numberThatComesBack_startsTheWaitAnew() {
    List<PodFacts> pods = List.of(pod("a", 10));
    look(0, pods, 4);
    look(20_000, pods, 4, 10);
    look(40_000, pods, 4);
    assertThat(created).isEmpty();
    look(40_000 + PodRules.OUTDATED_AFTER_MS, pods, 4);
    assertThat(created).hasSize(1);
  }

  @Test
  void boundPods_plainRequests_andClustersWithoutGpus_areLeftAlone() {
    List<PodFacts> fine = List.of(pod("plain", 0), pod("bound", 10).on("a"), pod("same", 4));
    look(0, fine, 4);
    look(PodRules.OUTDATED_AFTER_MS, fine, 4);
    List<PodFacts> early = List.of(pod("early", 10));
    look(0, early);
    look(PodRules.OUTDATED_AFTER_MS, early);
    assertThat(created).isEmpty();
    assertThat(pods()).isZero();
  }

  @Test
  void whoDoesNotDecide_tellsNobody() {
    rig.deciding = false;
    look(0, List.of(pod("a", 10)), 4);
    look(PodRules.OUTDATED_AFTER_MS, List.of(pod("a", 10)), 4);
    assertThat(created).isEmpty();
  }
}
