package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.nodeplugin.gpu.FailingMachine.Board;
import dev.tranche.nodeplugin.gpu.FailingMachine.State;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.nvml.GpuEvent;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.util.List;
import org.junit.jupiter.api.Test;

class GpuWatchTest {
  private static final long REOPEN_MS = 30_000;

  private long nowMs = 1_000_000;
  private final FailingMachine nvml = new FailingMachine();
  private final Board a = nvml.list("GPU-a");
  private final Board b = nvml.list("GPU-b");

  private GpuWatch watch(String disabled) {
    GpuWatch watch = FailingMachine.watch(disabled, () -> nowMs);
    reopen(watch);
    return watch;
  }

  private void reopen(GpuWatch watch) {
    watch.open(nvml);
    watch.sample();
  }

  private static Health health(GpuWatch watch, String uuid) {
    return watch.gpus().stream()
        .filter(gpu -> gpu.info().uuid().equals(uuid))
        .findFirst()
        .orElseThrow()
        .health();
  }

  @Test
  void xid_hitsItsGpuAlone_andEndsAfterQuietTime() throws Exception {
    GpuWatch watch = watch("");
    nvml.events.add(new GpuEvent(1, 94));
    assertThat(watch.awaitError(0)).isTrue();
    assertThat(health(watch, "GPU-a").healthy()).isTrue();
    assertThat(health(watch, "GPU-b").reason()).contains("XID 94");
    nowMs += FailingMachine.QUIET_MS - 1;
    watch.sample();
    assertThat(health(watch, "GPU-b").healthy()).isFalse();
    nowMs++;
    watch.sample();
    assertThat(health(watch, "GPU-b").healthy()).isTrue();
  }

  @Test
  void eventOfNobodyKnown_concernsAll_untilTheyWereQuiet_andADisabledOneNobody() throws Exception {
    GpuWatch watch = watch("48");
    nvml.events.add(new GpuEvent(0, GpuEvent.DOUBLE_BIT_ECC));
    assertThat(watch.awaitError(0)).isFalse();
    nvml.events.add(new GpuEvent(GpuEvent.ANY, 79));
    assertThat(watch.awaitError(0)).isTrue();
    assertThat(watch.gpus()).noneMatch(gpu -> gpu.health().healthy());
    nowMs += FailingMachine.QUIET_MS;
    watch.sample();
    assertThat(watch.gpus()).allMatch(gpu -> gpu.health().healthy());
  }

  @Test
  void eventOfNobodyKnown_isThatOfTheGpuThatDoesNotAnswer() throws Exception {
    GpuWatch watch = watch("");
    a.state = State.LOST;
    nvml.events.add(new GpuEvent(GpuEvent.ANY, 79));
    assertThat(watch.awaitError(0)).isTrue();
    assertThat(health(watch, "GPU-a").reason()).contains("XID 79");
    assertThat(health(watch, "GPU-b").healthy()).isTrue();
  }

  @Test
  void eventOfNobodyKnown_isThatOfTheGpuThatIsGoneAlready() throws Exception {
    GpuWatch watch = watch("");
    a.state = State.LOST;
    watch.sample();
    nvml.listed.remove(a);
    watch.sample();
    nvml.events.add(new GpuEvent(GpuEvent.ANY, 79));
    assertThat(watch.awaitError(0)).isFalse();
    assertThat(health(watch, "GPU-b").healthy()).isTrue();
  }

  @Test
  void failedSample_isNoLostGpu_norAreManyWhileItSaysWhoItIs() {
    GpuWatch watch = watch("");
    a.state = State.LOAD_FAILS;
    for (int i = 0; i < 2 * GpuSampler.FAILED_SAMPLES_MAX; i++) {
      watch.sample();
      assertThat(health(watch, "GPU-a").healthy()).isTrue();
    }
    assertThat(watch.gpus().getFirst().load()).isNull();
    assertThat(watch.gpus().getLast().load()).isNotNull();
  }

  @Test
  void gpuThatSaysNothing_isLost_afterSeveralSamples() {
    GpuWatch watch = watch("");
    a.state = State.WITHOUT_HANDLE;
    for (int i = 1; i < GpuSampler.FAILED_SAMPLES_MAX; i++) {
      watch.sample();
      assertThat(health(watch, "GPU-a").healthy()).isTrue();
    }
    watch.sample();
    assertThat(health(watch, "GPU-a")).isInstanceOf(Health.Lost.class);
    a.state = State.FINE;
    watch.sample();
    assertThat(health(watch, "GPU-a").healthy()).isTrue();
  }

  @Test
  void sessionThatWorks_isClosedForALostGpu_everMoreSeldom() {
    GpuWatch watch = watch("");
    a.state = State.LOST;
    watch.sample();
    int reopened = 0;
    for (int i = 0; i < 60; i++) {
      nowMs += REOPEN_MS;
      if (watch.restartNeeded()) {
        reopened++;
        reopen(watch);
      }
    }
    // After 30 s, then 60, 120, 240, 480 and 600 more, of 1800 s.
    assertThat(reopened).isEqualTo(6);
    assertThat(health(watch, "GPU-b").healthy()).isTrue();
  }

  @Test
  void sessionWithoutAWorkingGpu_isClosedEachTime() {
    GpuWatch watch = watch("");
    nvml.listed.forEach(board -> board.state = State.LOST);
    watch.sample();
    for (int i = 0; i < 10; i++) {
      nowMs += REOPEN_MS;
      assertThat(watch.restartNeeded()).isTrue();
      reopen(watch);
    }
  }

  @Test
  void gpuThatReportsNoErrors_isAdvertised_andNamed() {
    nvml.reportsErrors = false;
    GpuWatch watch = watch("");
    assertThat(watch.state().unwatched()).containsExactly("GPU-a", "GPU-b");
    assertThat(watch.gpus()).allMatch(gpu -> gpu.health().healthy());
  }

  @Test
  void lostGpu_thatEndsTheWaitOfAll_isSeenAtOnce_andTheOthersAreWatchedWithoutIt()
      throws Exception {
    GpuWatch watch = watch("");
    a.state = State.LOST;
    assertThat(watch.awaitError(0)).isTrue();
    assertThat(health(watch, "GPU-a")).isInstanceOf(Health.Lost.class);
    assertThat(nvml.subscribed).containsExactly("GPU-b");
    nvml.events.add(new GpuEvent(1, 94));
    assertThat(watch.awaitError(0)).isTrue();
    assertThat(health(watch, "GPU-b").reason()).contains("XID 94");
    assertThat(watch.state().unwatched()).isEmpty();
    a.state = State.FINE;
    watch.sample();
    assertThat(nvml.subscribed).containsExactlyInAnyOrder("GPU-a", "GPU-b");
  }

  @Test
  void waitThatFailsForGood_leavesAllGpusUnwatched_untilItWorks_andRestartsNvmlEverMoreSeldom()
      throws Exception {
    GpuWatch watch = watch("");
    nvml.waitFails = true;
    int restarts = 0;
    for (int second = 0; second < 1_800; second++) {
      nowMs += 1_000;
      watch.sample();
      if (watch.restartNeeded()) {
        restarts++;
        reopen(watch);
      }
      watch.awaitError(0);
    }
    assertThat(restarts).isEqualTo(6);
    assertThat(nvml.waits).isLessThanOrEqualTo(1_801);
    assertThat(watch.state().unwatched()).containsExactly("GPU-a", "GPU-b");
    assertThat(watch.state().withoutErrorReports()).isEmpty();
    assertThat(watch.state().problems())
        .singleElement()
        .returns(NodeProblem.Reason.GPU_ERRORS_UNWATCHED, NodeProblem::reason)
        .returns(2, NodeProblem::count)
        .satisfies(it -> assertThat(it.sentence()).contains("GPU-a, GPU-b", "waiting failed"));
    assertThat(watch.gpus()).allMatch(gpu -> gpu.health().healthy());
    nvml.waitFails = false;
    watch.sample();
    watch.awaitError(0);
    assertThat(watch.state().unwatched()).isEmpty();
    assertThat(watch.state().problems()).isEmpty();
  }

  @Test
  void waitThatFailsOnce_isTriedAgainAtOnce_andIsNoProblem() throws Exception {
    GpuWatch watch = watch("");
    nvml.waitFails = true;
    watch.awaitError(0);
    assertThat(watch.state().unwatched()).isEmpty();
    nvml.waitFails = false;
    nvml.events.add(new GpuEvent(1, 94));
    assertThat(watch.awaitError(60_000)).isTrue();
  }

  @Test
  void gpuThatCannotBeWatched_isUnwatched_andTriedAgain() {
    nvml.subscribingFails = true;
    GpuWatch watch = watch("");
    assertThat(watch.state().unwatched()).containsExactly("GPU-a", "GPU-b");
    nvml.subscribingFails = false;
    watch.sample();
    assertThat(watch.state().unwatched()).isEmpty();
    assertThat(nvml.subscribed).containsExactlyInAnyOrder("GPU-a", "GPU-b");
  }

  @Test
  void gpuThatHasNeverToldWhoItIs_isAProblem_untilItDoes_andAKnownLostOneIsNot() {
    a.state = State.WITHOUT_HANDLE;
    GpuWatch watch = watch("");
    assertThat(watch.state().problems())
        .singleElement()
        .returns(NodeProblem.Reason.GPU_NOT_IDENTIFIED, NodeProblem::reason)
        .returns(1, NodeProblem::count)
        .satisfies(it -> assertThat(it.sentence()).contains("2 GPUs", "GPU 0: no handle"));
    a.state = State.FINE;
    nowMs += REOPEN_MS;
    watch.restartNeeded();
    watch.open(nvml);
    assertThat(watch.state().problems()).isEmpty();
    a.state = State.LOST;
    reopen(watch);
    assertThat(watch.state().problems()).isEmpty();
  }

  @Test
  void migDeviceThatIsLeftOut_isAProblem_untilItIsGone() {
    nvml.listed.remove(b);
    a.mig("MIG-1");
    nvml.leftOut.add("it has no profile");
    GpuWatch watch = watch("");
    assertThat(uuids(watch)).containsExactly("GPU-a", "MIG-1");
    assertThat(watch.state().problems())
        .singleElement()
        .returns(NodeProblem.Reason.GPU_NOT_IDENTIFIED, NodeProblem::reason)
        .returns(1, NodeProblem::count)
        .satisfies(it -> assertThat(it.sentence()).contains("GPU 0: it has no profile"));
    nvml.leftOut.clear();
    nowMs += REOPEN_MS;
    watch.sample();
    assertThat(watch.state().problems()).isEmpty();
  }

  @Test
  void loadThatCannotBeRead_isAProblem() {
    GpuWatch watch = watch("");
    b.state = State.LOAD_FAILS;
    for (int i = 0; i < GpuSampler.FAILED_SAMPLES_MAX; i++) {
      watch.sample();
    }
    assertThat(watch.state().problems())
        .extracting(NodeProblem::reason)
        .containsExactly(NodeProblem.Reason.GPU_LOAD_UNREADABLE);
    b.state = State.FINE;
    watch.sample();
    assertThat(watch.state().problems()).isEmpty();
  }

  @Test
  void moreMemoryErrors_areAFault_thoseFromBeforeAreNot() {
    a.eccErrors = 3;
    GpuWatch watch = watch("");
    assertThat(health(watch, "GPU-a").healthy()).isTrue();
    a.eccErrors = 4;
    watch.sample();
    assertThat(health(watch, "GPU-a").reason()).contains("4 uncorrectable");
  }

  @Test
  void gpuThatIsLost_leavesTheOthers_andReturnsWithANewSession() {
    GpuWatch watch = watch("");
    a.state = State.LOST;
    watch.sample();
    assertThat(health(watch, "GPU-a")).isInstanceOf(Health.Lost.class);
    assertThat(health(watch, "GPU-b").healthy()).isTrue();
    assertThat(watch.restartNeeded()).isFalse();
    nowMs += REOPEN_MS;
    assertThat(watch.restartNeeded()).isTrue();
    a.state = State.FINE;
    reopen(watch);
    assertThat(watch.gpus()).allMatch(gpu -> gpu.health().healthy());
    nowMs += REOPEN_MS;
    assertThat(watch.restartNeeded()).isFalse();
  }

  @Test
  void gpuThatIsListedNoMore_isLost_andTheOtherIsReadAtItsNewIndex() throws Exception {
    GpuWatch watch = watch("");
    nvml.listed.remove(a);
    watch.sample();
    assertThat(health(watch, "GPU-a").reason()).contains("no longer lists this GPU");
    GpuStatus other = watch.gpus().get(1);
    assertThat(other.info().index()).isZero();
    assertThat(other.load()).isNotNull();
    nvml.events.add(new GpuEvent(0, 94));
    watch.awaitError(0);
    assertThat(health(watch, "GPU-b").healthy()).isFalse();
    assertThat(health(watch, "GPU-a")).isInstanceOf(Health.Lost.class);
  }

  @Test
  void nvmlThatIsGone_losesAllGpus_untilItIsOpenAgain() {
    GpuWatch watch = watch("");
    nvml.driverLoaded = false;
    assertThatThrownBy(watch::sample).isInstanceOf(NvmlException.class);
    watch.closed("reloading");
    assertThat(watch.gpus())
        .hasSize(2)
        .allMatch(gpu -> gpu.health() instanceof Health.Lost && gpu.load() == null);
    nvml.driverLoaded = true;
    reopen(watch);
    assertThat(watch.gpus()).allMatch(gpu -> gpu.health().healthy());
  }

  private static List<String> uuids(GpuWatch watch) {
    return watch.gpus().stream().map(gpu -> gpu.info().uuid()).toList();
  }

  @Test
  void migDevices_comeAndGoWhileNvmlIsOpen_behindTheirGpu() {
    a.mig();
    GpuWatch watch = watch("");
    a.mig("MIG-1", "MIG-2");
    watch.sample();
    assertThat(uuids(watch)).containsExactly("GPU-a", "GPU-b");
    nowMs += REOPEN_MS;
    watch.sample();
    assertThat(uuids(watch)).containsExactly("GPU-a", "MIG-1", "MIG-2", "GPU-b");
    a.mig("MIG-2");
    nowMs += REOPEN_MS;
    watch.sample();
    assertThat(uuids(watch)).containsExactly("GPU-a", "MIG-2", "GPU-b");
    a.migOn = false;
    watch.open(nvml);
    assertThat(uuids(watch)).containsExactly("GPU-a", "GPU-b");
  }

  @Test
  void processes_areQueriedOnMigDevices_notOnTheirGpu() {
    a.mig("MIG-1", "MIG-2");
    watch("");
    assertThat(nvml.queried).containsExactly("MIG device 0:0", "MIG device 0:1", "GPU 1");
  }

  @Test
  void migDevicesOfAGpuThatIsGone_areLostWithIt() {
    b.mig("MIG-1");
    GpuWatch watch = watch("");
    nvml.listed.remove(b);
    watch.sample();
    assertThat(health(watch, "MIG-1")).isInstanceOf(Health.Lost.class);
  }

  @Test
  void faultThatNeedsAReset_outlivesNvml_butNotItsGpuOrTheDriver() throws Exception {
    GpuWatch watch = watch("");
    nvml.events.add(new GpuEvent(0, 48));
    nvml.events.add(new GpuEvent(1, 48));
    watch.awaitError(0);
    watch.awaitError(0);
    watch.closed("NVML is gone");
    b.state = State.LOST;
    watch.open(nvml);
    b.state = State.FINE;
    reopen(watch);
    assertThat(health(watch, "GPU-a").reason()).contains("XID 48");
    assertThat(health(watch, "GPU-b").healthy()).isTrue();
    nvml.driver = "2";
    reopen(watch);
    assertThat(health(watch, "GPU-a").healthy()).isTrue();
  }

  @Test
  void nodeWithoutGpu_looksAgain() {
    nvml.listed.clear();
    GpuWatch watch = watch("");
    nowMs += REOPEN_MS;
    assertThat(watch.restartNeeded()).isTrue();
    nvml.listed.add(a);
    watch.open(nvml);
    assertThat(watch.gpus()).hasSize(1);
  }

  @Test
  void changes_areThoseOfHealth() {
    GpuWatch watch = watch("");
    List<GpuStatus> before = watch.gpus();
    a.state = State.LOST;
    watch.sample();
    List<GpuStatus> lost = watch.gpus();
    assertThat(HealthChange.between(before, lost))
        .singleElement()
        .returns("GpuLost", HealthChange::reason)
        .satisfies(change -> assertThat(change.message()).contains("GPU-a", "GPU is lost"));
    assertThat(HealthChange.between(lost, before))
        .extracting(HealthChange::reason)
        .containsExactly("GpuReturned");
    assertThat(HealthChange.between(List.of(), before)).isEmpty();
  }

  @Test
  void gpuWithAnUnexpectedException_isLeftOut_andAllOthersAreRead() {
    a.state = State.UNEXPECTED;
    GpuWatch watch = watch("");
    assertThat(uuids(watch)).containsExactly("GPU-b");
    assertThat(watch.state().problems())
        .singleElement()
        .satisfies(p -> assertThat(p.sentence()).contains("GPU 0", "nobody expects"));
  }

  @Test
  void sampleWithAnUnexpectedException_isAFailedOneOfThatGpu() {
    GpuWatch watch = watch("");
    a.state = State.UNEXPECTED;
    for (int i = 0; i < GpuSampler.FAILED_SAMPLES_MAX; i++) {
      watch.sample();
    }
    assertThat(health(watch, "GPU-a").healthy()).isFalse();
    assertThat(health(watch, "GPU-b").healthy()).isTrue();
  }
}
