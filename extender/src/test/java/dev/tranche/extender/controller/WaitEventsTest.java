package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.explain.WaitReason;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.placement.Reason;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.vertx.core.Future;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class WaitEventsTest {
  private static final long HOUR_S = 3_600;

  private static final WaitCause FULL = cause(WaitReason.FULL);
  private static final WaitCause MEMORY = cause(WaitReason.MEMORY);
  private final ControllerRig rig = new ControllerRig();
  private final List<Event> created = rig.created;
  private WaitEvents events = events();

  private WaitEvents events() {
    return new WaitEvents(rig.context);
  }

  private static WaitCause cause(WaitReason reason) {
    return new WaitCause(reason, "it needs 0.4 of one GPU", "Wait.");
  }

  private static PodFacts pod(String namespace, int number) {
    return new PodFacts(
        namespace + "-" + number,
        namespace,
        "p" + number,
        null,
        false,
        false,
        Names.RESOURCE,
        List.of(),
        Map.of());
  }

  private void waits(WaitCause cause, long atMs) {
    waits(cause, atMs, "figures");
  }

  private void waits(WaitCause cause, long atMs, String figures) {
    rig.world.nowMs = atMs;
    events.waits(pod("a", 1), cause, figures);
  }

  @Test
  void podThatWaitsForSeconds_isTold_andOnceMoreWhenTheReasonChanges() throws IOException {
    waits(FULL, 0);
    waits(FULL, WaitEvents.AFTER_MS - 1);
    assertThat(created).isEmpty();
    waits(FULL, WaitEvents.AFTER_MS, "gpu 0: 0.1 free");
    waits(FULL, WaitEvents.BETWEEN_MS * 3, "gpu 0: 0.2 free");
    assertThat(created).extracting(Event::getReason).containsExactly("NoGpuFits");
    assertThat(created.getFirst().getMessage())
        .isEqualTo("Full: it needs 0.4 of one GPU. Wait. gpu 0: 0.1 free");
    waits(MEMORY, WaitEvents.BETWEEN_MS * 3);
    assertThat(created).hasSize(2);
    String page = Files.readString(Path.of("../docs/errors.md"));
    for (WaitReason reason : WaitReason.values()) {
      assertThat(page).contains("`" + reason.event() + "`", "`" + reason + "`");
    }
    for (Reason refusal : Reason.values()) {
      assertThat(page).contains(WaitReason.valueOf(refusal.name()).sentence);
    }
  }

  @Test
  void reasonThatStays_isToldAgainBeforeTheEventIsDeleted() {
    for (long s = 0; s < 2 * HOUR_S; s += 3) {
      waits(FULL, s * 1_000);
    }
    assertThat(created).hasSize(3);
    assertThat(created.stream().map(event -> event.getMetadata().getName()).distinct()).hasSize(3);
  }

  @Test
  void gatedPod_getsNoEvent_andAUsualStepIsNoWarning() {
    waits(cause(WaitReason.GATED), 0);
    waits(cause(WaitReason.GATED), WaitEvents.AFTER_MS);
    assertThat(created).isEmpty();
    waits(cause(WaitReason.NOT_BOUND_YET), WaitEvents.AFTER_MS);
    waits(cause(WaitReason.NOT_BOUND_YET), 2 * WaitEvents.AFTER_MS);
    waits(FULL, WaitEvents.BETWEEN_MS * 2);
    assertThat(created).extracting(Event::getType).containsExactly("Normal", "Warning");
  }

  @Test
  void reasonThatAlternates_isToldEveryFiveMinutesAtMost() {
    for (long s = 0; s < HOUR_S; s++) {
      waits(s % 2 == 0 ? FULL : MEMORY, s * 1_000);
    }
    assertThat(created).hasSizeLessThanOrEqualTo(12);
  }

  @Test
  void fiveThousandPodsFor50Minutes_getOneEventEach_atABoundedRate() {
    List<PodFacts> pods = IntStream.range(0, 5_000).mapToObj(i -> pod("team-" + i % 5, i)).toList();
    int most = 0;
    for (long s = 0; s < WaitEvents.REPEAT_MS / 1_000; s++) {
      rig.world.nowMs = s * 1_000;
      int before = created.size();
      if (s % 3 == 0) {
        pods.forEach(pod -> events.waits(pod, FULL, "figures"));
      }
      most = Math.max(most, created.size() - before);
    }
    assertThat(created).hasSize(5_000);
    assertThat(created.stream().map(event -> event.getMetadata().getName()).distinct())
        .hasSize(5_000);
    assertThat(most).isLessThanOrEqualTo(WaitEvents.BURST);
  }

  @Test
  void extenderThatStartsAgain_repeatsTheEventWhenItIsDue() {
    PodFacts pod = pod("a", 1).with(new PreemptionInfo(0, Map.of(), 1, false, null));
    for (long s = 0; s < HOUR_S; s += 3) {
      rig.world.nowMs = s * 1_000;
      if (s == HOUR_S * 2 / 3) {
        events = events();
        rig.answer = Future.failedFuture(new KubernetesClientException("exists", 409, null));
      }
      events.waits(pod, FULL, "");
    }
    List<String> names = created.stream().map(event -> event.getMetadata().getName()).toList();
    assertThat(names).as("of the first, the same again, and the repeated one").hasSize(3);
    assertThat(names.get(1)).isEqualTo(names.get(0));
    assertThat(names.get(2)).isNotEqualTo(names.get(0));
  }

  @Test
  void longFigures_areTruncatedOnce() {
    waits(FULL, 0);
    waits(FULL, WaitEvents.AFTER_MS, "x".repeat(5_000));
    assertThat(created.getFirst().getMessage())
        .startsWith("Full: it needs")
        .hasSize(Printable.MESSAGE_CHARS_MAX + 1)
        .endsWith("x…");
  }

  @Test
  void pods_areBounded_andThoseThatNoLongerWaitAreForgotten() {
    IntStream.range(0, WaitEvents.PODS_MAX + 5).forEach(i -> events.waits(pod("a", i), FULL, ""));
    assertThat(events.pods.size()).isEqualTo(WaitEvents.PODS_MAX);
    events.retain(Set.of("a-1"));
    assertThat(events.pods.size()).isOne();
  }

  @Test
  void failedEvent_isWrittenAgain_andARefusedOneIsNot() {
    rig.answer = Future.failedFuture(new KubernetesClientException("busy", 503, null));
    waits(FULL, 0);
    waits(FULL, WaitEvents.AFTER_MS);
    rig.answer = Future.failedFuture(new KubernetesClientException("quota", 403, null));
    waits(FULL, WaitEvents.AFTER_MS + 3_000);
    waits(FULL, WaitEvents.AFTER_MS + 6_000);
    assertThat(created).hasSize(2);
  }

  @Test
  void extenderThatDoesNotDecide_tellsNobody() {
    rig.deciding = false;
    waits(FULL, 0);
    waits(FULL, WaitEvents.AFTER_MS);
    assertThat(created).isEmpty();
  }
}
