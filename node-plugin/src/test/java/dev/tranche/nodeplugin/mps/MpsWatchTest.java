package dev.tranche.nodeplugin.mps;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MpsWatchTest {
  private static final MpsStatus NONE = new MpsStatus.None();
  private static final MpsStatus SERVING = new MpsStatus.Serving(plan(10).lines());

  private long nowMs = 5_000;
  private final MpsWatch watch = new MpsWatch("gpu-node", () -> nowMs);

  private static MpsPlan plan(int replicas) {
    var gpu = new GpuInfo(0, "GPU-0", "Tesla T4", 0, 15360L << 20, 0, -1, 7, Mig.OFF);
    var how = new GpuSharing("nvidia.com/gpu", replicas, SharingStrategy.MPS, true);
    return MpsPlan.of(Map.of("GPU-0", how), List.of(gpu), true);
  }

  @Test
  void missingDaemon_isAwaitedAndThenNamedWithItsCure() {
    assertThat(watch.update(plan(10), NONE)).isEqualTo(new MpsAvailability.Awaited());
    nowMs += MpsWatch.AWAIT_MS;
    MpsAvailability missing = watch.update(plan(10), NONE);
    assertThat(missing).isInstanceOf(MpsAvailability.Missing.class);
    assertThat(missing.reason())
        .contains("kubectl label node gpu-node nvidia.com/mps.capable=true")
        .contains("DaemonSet tranche-mps-control-daemon");
  }

  @Test
  void daemonThatComes_serves() {
    watch.update(plan(10), NONE);
    nowMs += MpsWatch.AWAIT_MS;
    watch.update(plan(10), NONE);
    assertThat(watch.update(plan(10), SERVING)).isEqualTo(new MpsAvailability.Serving());
  }

  @Test
  void daemonThatServed_isLostAtOnce() {
    watch.update(plan(10), SERVING);
    assertThat(watch.update(plan(10), new MpsStatus.Failing("no GPU")))
        .isInstanceOf(MpsAvailability.Lost.class)
        .returns(
            "the MPS control daemon of this node does not serve: no GPU", MpsAvailability::reason);
  }

  @Test
  void daemonOfAnotherConfig_doesNotServe() {
    watch.update(plan(10), SERVING);
    assertThat(watch.update(plan(5), SERVING).reason()).contains("not taken over this config yet");
  }

  @Test
  void daemonThatServesMore_serves() {
    List<String> more = Stream.concat(plan(10).lines().stream(), Stream.of("GPU-1 10 r")).toList();
    assertThat(watch.update(plan(10), new MpsStatus.Serving(more)))
        .isEqualTo(new MpsAvailability.Serving());
  }

  @Test
  void configWithoutMps_forgetsTheDaemon() {
    watch.update(plan(10), SERVING);
    assertThat(watch.update(MpsPlan.NONE, SERVING)).isEqualTo(new MpsAvailability.NotNeeded());
    assertThat(watch.update(plan(10), NONE)).isEqualTo(new MpsAvailability.Awaited());
    nowMs += MpsWatch.AWAIT_MS;
    watch.update(MpsPlan.NONE, NONE);
    assertThat(watch.update(plan(10), NONE)).isEqualTo(new MpsAvailability.Awaited());
  }

  static List<MpsStatus> statuses() {
    return List.of(SERVING, new MpsStatus.Serving(List.of()), new MpsStatus.Failing("no GPU"));
  }

  @ParameterizedTest
  @MethodSource("statuses")
  void status_isReadAsItWasWritten(MpsStatus status) {
    assertThat(MpsStatus.parse(MpsStatus.text(status))).isEqualTo(status);
  }

  @Test
  void unknownStatus_isNone() {
    assertThat(MpsStatus.parse("later\nversion")).isEqualTo(NONE);
    assertThat(MpsStatus.parse("")).isEqualTo(NONE);
  }

  @Test
  void mountPoint_isWhereAnotherFileSystemBegins() throws IOException {
    assertThat(LinuxFolders.isMountPoint(Path.of("/proc"))).isTrue();
    assertThat(LinuxFolders.isMountPoint(Path.of("/proc/self"))).isFalse();
  }
}
