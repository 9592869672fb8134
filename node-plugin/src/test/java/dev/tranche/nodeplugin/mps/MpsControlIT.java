package dev.tranche.nodeplugin.mps;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.FakeMps;
import dev.tranche.nodeplugin.file.AtomicFile;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.AdminNvml;
import dev.tranche.nodeplugin.nvml.GpuEvent;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuProcess;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MpsControlIT {
  private static final int UNKNOWN_ERROR = 999;

  @TempDir Path folder;
  private final Nvml nvml = new Nvml();

  /** One GPU, whose count fails when told to. */
  private static final class Nvml implements AdminNvml {
    private final AtomicInteger opened = new AtomicInteger();
    private volatile boolean failing;
    private boolean refusesModes;
    private int mode;

    @Override
    public String driverVersion() {
      return "580.1";
    }

    @Override
    public int count() {
      if (failing) {
        throw new NvmlException(UNKNOWN_ERROR, "NVML does not count its GPUs");
      }
      return 1;
    }

    @Override
    public GpuInfo info(int index) {
      return new GpuInfo(0, "GPU-0", "Tesla T4", 0, 15_360L << 20, 0, -1, 7, Mig.OFF);
    }

    @Override
    public GpuReading read(int index) {
      return new GpuReading(0, 0, 0);
    }

    @Override
    public List<GpuProcess> processes(int index) {
      return List.of();
    }

    @Override
    public boolean watch(int index) {
      return false;
    }

    @Override
    public Optional<GpuEvent> awaitEvent(int timeoutMs) {
      return Optional.empty();
    }

    @Override
    public int computeMode(int index) {
      return mode;
    }

    @Override
    public void computeMode(int index, int newMode) {
      if (refusesModes) {
        throw new NvmlException(UNKNOWN_ERROR, "NVML sets no mode");
      }
      mode = newMode;
    }

    @Override
    public void close() {}
  }

  @Test
  void nvmlThatFails_leavesTheDaemonsThatServe() throws Exception {
    FakeMps mps = FakeMps.compiled(folder.resolve("mps"));
    Path file = folder.resolve("mps-plan");
    Files.writeString(file, "nvidia.com/gpu GPU-0 16106127360 10 true true\n");
    MpsControl control =
        new MpsControl(
            file,
            () -> {
              nvml.opened.incrementAndGet();
              return nvml;
            },
            new MpsRoot(folder.resolve("mps")),
            mps.program().toString(),
            new NodeMetrics());
    Thread thread = Thread.ofPlatform().start(() -> run(control));
    try {
      until("it serves", control::serving);
      nvml.failing = true;
      Path status = folder.resolve("mps/.status");
      until("it says so", () -> Files.exists(status));
      for (int beats = 0; beats < 3; beats++) {
        Object before = FakeMps.modified(status);
        until("it goes on", () -> !FakeMps.modified(status).equals(before));
      }
      assertThat(mps.commandCount("quit")).isZero();
      assertThat(control.serving()).isTrue();
      assertThat(nvml.opened).hasValue(1);
      mps.killControl();
      until("NVML is opened anew", () -> nvml.opened.get() > 1);
    } finally {
      control.stop();
      thread.join();
      mps.kill();
    }
  }

  /** The mode that MPS sets must not be taken for the GPU's earlier one. */
  @Test
  void modeThatCannotBeRestored_isRestoredLater() throws Exception {
    Path file = folder.resolve("compute-modes");
    var gpus = List.of(new MpsGpu("GPU-0", 1 << 30, 10));
    var modes = new ComputeModes(nvml, new AtomicFile(file));
    nvml.mode = 2;
    modes.setExclusive(gpus);
    assertThat(nvml.mode).isEqualTo(AdminNvml.COMPUTE_MODE_EXCLUSIVE_PROCESS);
    nvml.refusesModes = true;
    modes.restore(Set.of());
    nvml.refusesModes = false;
    modes.setExclusive(gpus);
    modes.restore(Set.of());
    assertThat(nvml.mode).isEqualTo(2);
    assertThat(file).doesNotExist();
  }

  private static void run(MpsControl control) {
    try {
      control.run();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
