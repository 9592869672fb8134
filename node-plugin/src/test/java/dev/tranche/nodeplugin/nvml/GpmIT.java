package dev.tranche.nodeplugin.nvml;

import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import dev.tranche.process.log.Logged;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** GPM against the simulated library, which answers as an H100 does. */
class GpmIT extends WithNvml {
  private static final String BUSY =
      "gpm=1 sm=98 gpm_graphics=97.5 gpm_sm=80.25 gpm_occupancy=40 gpm_tensor=12.5 gpm_dram=90";
  private static final Gpm BUSY_VALUES = new Gpm(97.5, 80.25, 40, 12.5, 90);
  private static final String MIG_GPU =
      "gpu index=0 uuid=GPU-0 memory_mib=81920 mig=1 gpm=1 gpm_sm=1";
  private static final String MIG_DEVICE =
      "mig gpu=0 index=2 uuid=MIG-2 profile=1g.10gb gi=9 ci=0 memory_mib=9728 ";

  // Real time, since the library's samples need it, and what tests add to it.
  private final AtomicLong addedMs = new AtomicLong();

  @Override
  long clockMs() {
    return super.clockMs() + addedMs.get();
  }

  private static Gpm values(Supplier<GpuReading> read) {
    until("values of GPM", () -> !read.get().gpm().equals(Gpm.UNKNOWN));
    return read.get().gpm();
  }

  @Test
  void values_areOfTheTimeBetweenTwoSamples() throws Exception {
    open(gpu(0, BUSY), gpu(1, "gpm=1 gpm_sm=5"));
    assertThat(nvml.read(0).gpm()).isEqualTo(Gpm.UNKNOWN);
    assertThat(values(() -> nvml.read(0))).isEqualTo(BUSY_VALUES);
    assertThat(nvml.read(0).smPercent()).isEqualTo(98);
    fake.state(gpu(0, "gpm=1"), gpu(1, "gpm=1 gpm_sm=5"));
    Gpm idle = new Gpm(0, 0, 0, 0, 0);
    until("idle", () -> nvml.read(0).gpm().equals(idle));
    assertThat(values(() -> nvml.read(1)).smPercent()).isEqualTo(5);
  }

  @Test
  void gpuWithoutGpm_hasNone_alsoWhereTheLibraryHasNot() throws Exception {
    open(gpu(0, "sm=3"));
    assertThat(nvml.read(0)).isEqualTo(new GpuReading(0, 3, 0, Gpm.UNKNOWN));
    open(gpu(0, BUSY), "answer function=nvmlGpmQueryDeviceSupport missing=1");
    assertThat(nvml.read(0).gpm()).isEqualTo(Gpm.UNKNOWN);
  }

  /** As a vGPU of a part of a GPU. */
  @Test
  void gpuThatSaysItHasGpmButFails_hasNoneNow_andIsTriedAgainAfterAMinute() throws Exception {
    open(gpu(0, BUSY), "answer function=nvmlGpmSampleGet code=999");
    try (var logged = Logged.by(NvmlGpm.class)) {
      for (int minute = 0; minute < 3; minute++) {
        assertThat(nvml.read(0).gpm()).isEqualTo(Gpm.UNKNOWN);
        addedMs.addAndGet(NvmlGpm.RETRY_MS);
      }
      assertThat(nvml.read(0).smPercent()).isEqualTo(98);
      assertThat(logged.messages())
          .singleElement(STRING)
          .startsWith("GPU 0 says that it has GPM but gives no sample: Unknown Error");
    }
    fake.state(gpu(0, BUSY));
    addedMs.addAndGet(NvmlGpm.RETRY_MS / 2);
    assertThat(nvml.read(0).gpm()).isEqualTo(Gpm.UNKNOWN);
    addedMs.addAndGet(NvmlGpm.RETRY_MS);
    assertThat(values(() -> nvml.read(0))).isEqualTo(BUSY_VALUES);
  }

  @Test
  void permissionThatIsTakenAfterAWhile_endsTheValues_untilItIsBack() throws Exception {
    open(gpu(0, BUSY), gpu(1, BUSY));
    values(() -> nvml.read(0));
    for (String function : List.of("nvmlGpmMetricsGet", "nvmlGpmSampleGet")) {
      fake.state(gpu(0, BUSY), gpu(1, BUSY), "answer function=" + function + " code=4 gpu=0");
      until("no GPM", () -> nvml.read(0).gpm().equals(Gpm.UNKNOWN));
      assertThat(nvml.read(0).smPercent()).isEqualTo(98);
      assertThat(values(() -> nvml.read(1))).isEqualTo(BUSY_VALUES);
      fake.state(gpu(0, BUSY), gpu(1, BUSY));
      addedMs.addAndGet(NvmlGpm.RETRY_MS);
      assertThat(nvml.read(0).gpm()).isEqualTo(Gpm.UNKNOWN);
      values(() -> nvml.read(0));
    }
  }

  /** An H100 then says that its SMs did nothing. */
  @Test
  void samplesWithoutTimeBetweenThem_areNotKnown_andNotZero() throws Exception {
    open(gpu(0, BUSY + " gpm_stall=1"));
    for (int i = 0; i < 5; i++) {
      addedMs.addAndGet(1_000);
      assertThat(nvml.read(0).gpm()).isEqualTo(Gpm.UNKNOWN);
    }
  }

  @Test
  void migDevice_hasItsOwnValues_andTheTimeInWhichItWorked() throws Exception {
    open(
        MIG_GPU,
        MIG_DEVICE + "gpm=1 gpm_graphics=33.4 gpm_sm=21 gpm_occupancy=7 gpm_tensor=3 gpm_dram=44",
        "process gpu=0 mig=2 pid=7 used_mib=12");
    assertThat(nvml.readMig(0, 2).smPercent()).isEqualTo(100);
    assertThat(values(() -> nvml.readMig(0, 2))).isEqualTo(new Gpm(33.4, 21, 7, 3, 44));
    assertThat(nvml.readMig(0, 2).smPercent()).isEqualTo(33);
    assertThat(values(() -> nvml.read(0)).smPercent()).isEqualTo(1);
  }

  @Test
  void migDeviceWithoutGpm_countsAsBusyWithAProcess() throws Exception {
    open(MIG_GPU, MIG_DEVICE, "process gpu=0 mig=2 pid=7 used_mib=12");
    assertThat(nvml.readMig(0, 2)).isEqualTo(new GpuReading(0, 100, 1, Gpm.UNKNOWN));
  }
}
