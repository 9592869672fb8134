package dev.tranche.nodeplugin.nvml;

import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.tranche.nodeplugin.FakeNvml;
import dev.tranche.process.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The binding against the simulated library. */
class JnaNvmlIT extends WithNvml {
  private static final Set<String> REQUIRED =
      Set.of(
          "nvmlInit_v2",
          "nvmlShutdown",
          "nvmlErrorString",
          "nvmlDeviceGetCount_v2",
          "nvmlDeviceGetHandleByIndex_v2",
          "nvmlDeviceGetUUID",
          "nvmlDeviceGetName",
          "nvmlDeviceGetMinorNumber");

  @Test
  void boundFunctions_areThoseOfTheSimulatedLibrary() throws Exception {
    // NVIDIA's hook sets memory limits; verify-gpu asks for attributes.
    Stream<String> ofOthers =
        Stream.of("nvmlDeviceSetMemoryLimits_v1", "nvmlDeviceGetAttributes_v2");
    List<String> bound = Stream.concat(called(), ofOthers).toList();
    assertThat(exported()).containsExactlyInAnyOrderElementsOf(bound);
  }

  /** NVML's functions that the sources name. */
  private static Stream<String> called() throws IOException {
    Pattern name = Pattern.compile("\"(nvml[A-Z]\\w+)\"");
    Set<String> names = new TreeSet<>();
    try (var sources = Files.list(Path.of("src/main/java/dev/tranche/nodeplugin/nvml"))) {
      for (Path source : sources.toList()) {
        name.matcher(Files.readString(source)).results().map(r -> r.group(1)).forEach(names::add);
      }
    }
    return names.stream();
  }

  private List<String> exported() throws Exception {
    String out = Programs.output("nm", "-D", "--defined-only", fake.library().toString());
    return out.lines().map(l -> l.substring(l.lastIndexOf(' ') + 1)).toList();
  }

  @Test
  void info_andReading_areTheStateFiles() throws Exception {
    open(
        gpu(0, "sm=37 used_mib=1024 minor=3 pci=00000000:3B:00.0"),
        "process gpu=0 pid=7 used_mib=512",
        "process gpu=0 pid=8 used_mib=512");
    assertThat(nvml.count()).isEqualTo(1);
    GpuInfo info = nvml.info(0);
    assertThat(info.uuid()).isEqualTo("GPU-0");
    assertThat(info.model()).isEqualTo("Tesla T4");
    assertThat(info.minor()).isEqualTo(3);
    assertThat(info.memoryTotalBytes()).isEqualTo(15360L << 20);
    assertThat(info.memoryReservedBytes()).isEqualTo(450L << 20);
    assertThat(nvml.read(0)).isEqualTo(new GpuReading(1024L << 20, 37, 2));
  }

  @Test
  void driverWhoseDeviceNodeCannotBeOpened_isNotLoaded() throws Exception {
    assumeThat(Path.of("/dev/nvidiactl")).doesNotExist();
    fake.state("driver version=580.82.07 nodes=1", gpu(0, ""));
    assertThatThrownBy(() -> JnaNvml.open(fake.root())).hasMessageContaining("Driver Not Loaded");
  }

  @Test
  void computeCapability_isTheStateFiles() throws Exception {
    open(gpu(0, "cc=6.1"));
    assertThat(nvml.info(0).computeMajor()).isEqualTo(6);
  }

  @Test
  void computeMode_isTheOneSet() throws Exception {
    fake.computeMode(0, AdminNvml.COMPUTE_MODE_DEFAULT);
    open(gpu(0, ""));
    nvml.computeMode(0, AdminNvml.COMPUTE_MODE_EXCLUSIVE_PROCESS);
    assertThat(nvml.computeMode(0)).isEqualTo(AdminNvml.COMPUTE_MODE_EXCLUSIVE_PROCESS);
    assertThat(fake.computeMode(0)).isEqualTo(3);
    assertThatThrownBy(() -> nvml.computeMode(0, 9)).isInstanceOf(NvmlException.class);
    nvml.computeMode(0, AdminNvml.COMPUTE_MODE_DEFAULT);
  }

  @Test
  void xid_isToldOnce() throws Exception {
    open(gpu(0, ""));
    assertThat(nvml.watch(0)).isTrue();
    fake.state(gpu(0, ""), "xid gpu=0 code=79 seq=1");
    assertThat(nvml.awaitEvent(0)).contains(new GpuEvent(0, 79));
    assertThat(nvml.awaitEvent(0)).isEqualTo(Optional.empty());
  }

  @Test
  void migDevices_areTheStateFiles() throws Exception {
    open(
        gpu(0, ""),
        "gpu index=1 uuid=GPU-1 model=A100 memory_mib=40536 minor=3 mig=1",
        "mig gpu=1 index=0 uuid=MIG-0 profile=1g.5gb gi=7 ci=0 memory_mib=4864 used_mib=12",
        "mig gpu=1 index=3 uuid=MIG-3 profile=1c.2g.10gb gi=3 ci=1 memory_mib=9856",
        "process gpu=1 mig=0 pid=7 used_mib=12");
    assertThat(nvml.migDevices(nvml.info(0), why -> {})).isEmpty();
    assertThat(nvml.info(1).mig()).isEqualTo(Mig.ON);
    List<GpuInfo> migDevices = nvml.migDevices(nvml.info(1), why -> {});
    assertThat(migDevices).extracting(GpuInfo::number).containsExactly("1:0", "1:3");
    assertThat(migDevices).extracting(GpuInfo::uuid).containsExactly("MIG-0", "MIG-3");
    assertThat(migDevices).extracting(GpuInfo::minor).containsOnly(3);
    assertThat(migDevices.get(1).migDevice())
        .contains(new Mig.Device(3, "GPU-1", "1c.2g.10gb", 3, 1, List.of()));
    assertThat(nvml.readMig(1, 0)).isEqualTo(new GpuReading(12L << 20, 100, 1));
    assertThat(nvml.readMig(1, 3)).isEqualTo(new GpuReading(0, 0, 0));
    assertThatThrownBy(() -> nvml.readMig(1, 1)).hasMessage("MIG device 1:1 is gone");
  }

  @Test
  void migDeviceWithoutAKnownProfile_isLeftOut_andTold() throws Exception {
    open(
        MIG_GPU,
        "mig gpu=0 index=0 uuid=MIG-0 profile=1g.new gi=7 ci=0 memory_mib=4864",
        "mig gpu=0 index=1 uuid=MIG-1 profile=1g.5gb gi=8 ci=0 memory_mib=4864");
    List<String> leftOut = new ArrayList<>();
    assertThat(nvml.migDevices(nvml.info(0), leftOut::add))
        .extracting(GpuInfo::uuid)
        .containsExactly("MIG-1");
    assertThat(leftOut).singleElement().asString().contains("MIG 1g.new");
  }

  private static final String MIG_GPU = "gpu index=0 uuid=GPU-0 memory_mib=40960 mig=1";
  private static final String MIG_DEVICE =
      "mig gpu=0 index=0 uuid=MIG-0 profile=1g.5gb gi=1 ci=0 memory_mib=4864";

  @Test
  void migWithoutPrivileges_isSaidWithAdvice_andEventsOfInstancesStayAway() throws Exception {
    open("driver privileges=none", MIG_GPU, MIG_DEVICE);
    assertThatThrownBy(() -> nvml.info(0))
        .hasMessageContaining("NVML code 4")
        .hasMessageContaining("SYS_ADMIN")
        .hasMessageContaining("NVIDIA_MIG_MONITOR_DEVICES");
    assertThat(nvml.readMig(0, 0).memoryUsedBytes()).isZero();
    assertThat(nvml.watch(0)).isTrue();
    fake.state(
        "driver privileges=none",
        MIG_GPU,
        MIG_DEVICE,
        "xid gpu=0 code=94 seq=1 gi=1 ci=0",
        "xid gpu=0 code=48 seq=2");
    assertThat(nvml.awaitEvent(0)).contains(new GpuEvent(0, 48));
    assertThat(nvml.awaitEvent(0)).isEmpty();
  }

  @Test
  void migWithPrivileges_answersByTheCapabilitiesOfTheCaller() throws Exception {
    String effective =
        Files.readAllLines(Path.of("/proc/self/status")).stream()
            .filter(line -> line.startsWith("CapEff:"))
            .findFirst()
            .orElseThrow();
    boolean sysAdmin = (Long.parseUnsignedLong(effective.substring(7).strip(), 16) >> 21 & 1) == 1;
    open("driver privileges=caller", MIG_GPU, MIG_DEVICE);
    if (sysAdmin) {
      assertThat(nvml.info(0).memoryTotalBytes()).isEqualTo(40960L << 20);
    } else {
      assertThatThrownBy(() -> nvml.info(0)).hasMessageContaining("NVML code 4");
    }
  }

  @Test
  void eccEvent_isThatOfItsXid_andAMigDeviceIsNamed() throws Exception {
    open(gpu(0, ""));
    nvml.watch(0);
    fake.state(gpu(0, ""), "ecc gpu=0 seq=1", "xid gpu=0 code=43 seq=2 gi=1 ci=0");
    assertThat(nvml.awaitEvent(0)).contains(new GpuEvent(0, GpuEvent.DOUBLE_BIT_ECC));
    assertThat(nvml.awaitEvent(0)).contains(new GpuEvent(0, 43, 1, 0));
  }

  @Test
  void sensors_areRead_andAMissingOneIsUnknown() throws Exception {
    open(gpu(0, "temperature_c=61 power_mw=68000 throttle=0x4 ecc_uncorrected=3"), gpu(1, ""));
    // The second one first, since its failed calls leave something in the buffer.
    assertThat(nvml.read(1)).isEqualTo(new GpuReading(0, 0, 0));
    assertThat(nvml.read(0)).isEqualTo(new GpuReading(0, 0, 0, 61, 68_000, 4, 3, Gpm.UNKNOWN));
  }

  /** Drivers 535.54 to 535.86 tell of a process in a longer struct. */
  @ParameterizedTest
  @ValueSource(ints = {24, 32})
  void processes_areThoseOfTheGpu_inEveryListAndStruct(int structBytes) throws Exception {
    open(
        "driver version=535.54.03 process_bytes=" + structBytes,
        gpu(0, ""),
        gpu(1, ""),
        "process gpu=0 pid=7 used_mib=512 sm=30",
        "process gpu=0 pid=6 used_mib=16",
        "process gpu=0 pid=5 used_mib=8",
        "process gpu=0 pid=8 used_mib=64 graphics=1",
        "process gpu=0 pid=10 used_mib=32 mps=1",
        "process gpu=1 pid=9 used_mib=1");
    assertThat(nvml.processes(0))
        .containsExactlyInAnyOrder(
            new GpuProcess(7, 512L << 20, 30),
            new GpuProcess(6, 16L << 20, 0),
            new GpuProcess(5, 8L << 20, 0),
            new GpuProcess(8, 64L << 20, 0),
            new GpuProcess(10, 32L << 20, 0));
  }

  @Test
  void useOfARealProcess_isItsGpus_untilItEnds() throws Exception {
    Process sleep = new ProcessBuilder("sleep", "60").start();
    open(
        gpu(0, "used_mib=64 sm=80"),
        "process gpu=0 pid=%d used_mib=512 sm=30 real=1".formatted(sleep.pid()));
    assertThat(nvml.read(0)).isEqualTo(new GpuReading(576L << 20, 100, 1));
    sleep.destroyForcibly().waitFor();
    assertThat(nvml.read(0)).isEqualTo(new GpuReading(64L << 20, 80, 0));
    assertThat(nvml.processes(0)).isEmpty();
  }

  @Test
  void processes_ofAMigDevice_areItsOwn() throws Exception {
    open(
        gpu(0, "mig=1"),
        "mig gpu=0 index=0 uuid=MIG-a profile=1g.5gb gi=7 ci=0 memory_mib=4864 used_mib=600",
        "mig gpu=0 index=1 uuid=MIG-b profile=1g.5gb gi=8 ci=0 memory_mib=4864 used_mib=1",
        "process gpu=0 mig=0 pid=7 used_mib=512",
        "process gpu=0 mig=0 pid=8 used_mib=64",
        "process gpu=0 mig=1 pid=9 used_mib=1");
    assertThat(nvml.migProcesses(0, 0))
        .containsExactlyInAnyOrder(
            new GpuProcess(7, 512L << 20, 50), new GpuProcess(8, 64L << 20, 50));
    assertThat(nvml.migProcesses(0, 1)).containsExactly(new GpuProcess(9, 1L << 20, 100));
  }

  @Test
  void links_areTheStateFiles() throws Exception {
    open(
        gpu(0, "nvlink=1,1,2 switch=0 node=0"),
        gpu(1, "nvlink=0,0 switch=0 node=0"),
        gpu(2, "nvlink=0 node=0"),
        gpu(3, "node=1"));
    assertThat(nvml.link(0, 1)).isEqualTo(new GpuLink(2, 10));
    assertThat(nvml.link(2, 0)).isEqualTo(new GpuLink(1, GpuLink.ONE_NODE));
    assertThat(nvml.link(3, 0)).isEqualTo(new GpuLink(0, GpuLink.SYSTEM));
  }

  @Test
  void startsAndRetries_leaveNothingBound() throws Exception {
    fake.state("gpu nonsense");
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(() -> JnaNvml.open(fake.root())).isInstanceOf(NvmlException.class);
    }
    open(gpu(0, ""));
    open(gpu(0, ""));
    assertThat(nvml.count()).isEqualTo(1);
  }

  @Test
  void capNodes_areTheKernelsMinors(@TempDir Path proc) throws IOException {
    assertThat(MigCaps.read(proc).nodes(0, 7, 0)).isEmpty();
    Path minors = proc.resolve("driver/nvidia-caps/mig-minors");
    Files.createDirectories(minors.getParent());
    Files.writeString(minors, "config 1\nmonitor 2\ngpu0/gi7/access 66\ngpu0/gi7/ci0/access 67\n");
    assertThat(MigCaps.read(proc).nodes(0, 7, 0))
        .containsExactly("/dev/nvidia-caps/nvidia-cap66", "/dev/nvidia-caps/nvidia-cap67");
    assertThat(MigCaps.read(proc).nodes(0, 7, 1)).isEmpty();
  }

  @Test
  void lostGpu_isSaidToBeLost() throws Exception {
    open(gpu(0, "lost=1"));
    assertThatThrownBy(() -> nvml.read(0))
        .isInstanceOfSatisfying(NvmlException.class, e -> assertThat(e.lost()).isTrue())
        .hasMessageContaining("GPU is lost");
  }

  @Test
  void brokenState_isAMissingDriver() throws Exception {
    fake.state("gpu nonsense");
    assertThatThrownBy(() -> JnaNvml.open(fake.root()))
        .isInstanceOf(NvmlException.class)
        .hasMessageContaining("Driver Not Loaded")
        .hasMessageContaining("nvidia-smi")
        .hasMessageContaining("/dev/nvidia*")
        .hasMessageContaining("runtimeClassName=nvidia")
        .hasMessageContaining("nvidiaDriverRoot");
  }

  @Test
  void numaNode_isTheKernels(@TempDir Path sys) throws IOException {
    Path device = sys.resolve("bus/pci/devices/0000:3b:00.0");
    Files.createDirectories(device);
    Files.writeString(device.resolve("numa_node"), "1\n");
    assertThat(NumaNodes.of(sys, "00000000:3B:00.0")).isEqualTo(1);
    assertThat(NumaNodes.of(sys, "00000000:AF:00.0")).isEqualTo(-1);
  }

  private static final int NOT_SUPPORTED = 3;
  private static final int UNKNOWN_ERROR = 999;

  private static String answer(String function, int code) {
    return "answer function=%s code=%d".formatted(function, code);
  }

  @Test
  void gpuWithoutMemoryOfItsOwn_isTold_withUnknownMemory() throws Exception {
    open(
        gpu(0, "sm=37"),
        answer("nvmlDeviceGetMemoryInfo_v2", NOT_SUPPORTED),
        answer("nvmlDeviceGetMemoryInfo", NOT_SUPPORTED));
    assertThat(nvml.info(0).memoryTotalBytes()).isZero();
    assertThat(nvml.info(0).memoryReservedBytes()).isZero();
    assertThat(nvml.read(0)).isEqualTo(new GpuReading(GpuReading.UNKNOWN, 37, 0));
  }

  @Test
  void gpuThatSharesTheSystemsMemory_hasAllOfIt_andItsUseIsUnknown() throws Exception {
    GpuMemory system = GpuMemory.ofSystem(Path.of("/proc/meminfo"));
    assertThat(system.totalBytes()).isPositive();
    open(
        gpu(0, "addressing=ats sm=37"),
        answer("nvmlDeviceGetMemoryInfo_v2", NOT_SUPPORTED),
        answer("nvmlDeviceGetMemoryInfo", NOT_SUPPORTED));
    assertThat(nvml.info(0).memoryTotalBytes()).isEqualTo(system.totalBytes());
    assertThat(nvml.info(0).memoryReservedBytes()).isZero();
    assertThat(nvml.read(0).memoryUsedBytes()).isEqualTo(GpuReading.UNKNOWN);
  }

  @Test
  void memoryOfItsOwn_counts_alsoOfAGpuThatAddressesTheSystems() throws Exception {
    open(gpu(0, "addressing=ats used_mib=10"));
    assertThat(nvml.info(0).memoryTotalBytes()).isEqualTo(15360L << 20);
  }

  @Test
  void systemMemory_isTheKernels() throws Exception {
    Path meminfo = Files.createTempFile("tranche", ".meminfo");
    Files.writeString(
        meminfo, "MemTotal:       1000 kB\nMemFree:   100 kB\nMemAvailable:    300 kB\n");
    assertThat(GpuMemory.ofSystem(meminfo))
        .isEqualTo(new GpuMemory(1000 << 10, 0, GpuReading.UNKNOWN));
    Files.writeString(meminfo, "MemFree:         100 kB\n");
    assertThat(GpuMemory.ofSystem(meminfo)).isEqualTo(GpuMemory.UNKNOWN);
    Files.delete(meminfo);
    assertThat(GpuMemory.ofSystem(meminfo)).isEqualTo(GpuMemory.UNKNOWN);
  }

  @Test
  void memory_isTheFirstVersions_whereThereIsNoSecond() throws Exception {
    open(gpu(0, "used_mib=10"), "answer function=nvmlDeviceGetMemoryInfo_v2 missing=1");
    assertThat(nvml.info(0).memoryTotalBytes()).isEqualTo(15360L << 20);
    assertThat(nvml.read(0).memoryUsedBytes()).isEqualTo(460L << 20);
  }

  @Test
  void utilizationThatIsNotSupported_keepsTheMemory() throws Exception {
    open(
        gpu(0, "used_mib=10"),
        gpu(1, "used_mib=10"),
        "process gpu=1 pid=7 used_mib=10",
        answer("nvmlDeviceGetUtilizationRates", NOT_SUPPORTED));
    assertThat(nvml.read(0)).isEqualTo(new GpuReading(10L << 20, 0, 0));
    assertThat(nvml.read(1)).isEqualTo(new GpuReading(10L << 20, 100, 1));
  }

  @Test
  void xidOfAGpuThatGivesNoHandle_isThatGpus() throws Exception {
    open(gpu(0, ""), gpu(1, ""), gpu(2, ""));
    for (int index = 0; index < 3; index++) {
      assertThat(nvml.watch(index)).isTrue();
    }
    fake.state(gpu(0, ""), gpu(1, "lost=1"), gpu(2, ""), "xid gpu=1 code=79 seq=1");
    assertThat(nvml.awaitEvent(0)).contains(new GpuEvent(1, 79));
  }

  @Test
  void lostGpu_endsTheWaitOfItsSet_untilTheOthersAreWatchedAnew() throws Exception {
    open(gpu(0, ""), gpu(1, ""));
    nvml.watch(0);
    nvml.watch(1);
    fake.state(gpu(0, ""), gpu(1, "lost=1"));
    assertThatThrownBy(() -> nvml.awaitEvent(60_000))
        .isInstanceOfSatisfying(NvmlException.class, e -> assertThat(e.lost()).isTrue());
    nvml.unwatchAll();
    assertThat(nvml.watch(0)).isTrue();
    assertThat(nvml.awaitEvent(0)).isEmpty();
    fake.state(gpu(0, ""), gpu(1, "lost=1"), "xid gpu=0 code=94 seq=1");
    assertThat(nvml.awaitEvent(0)).contains(new GpuEvent(0, 94));
  }

  @Test
  void eventSetThatCannotBeMade_isAFailure_notADriverWithoutErrors() throws Exception {
    open(gpu(0, ""), answer("nvmlEventSetCreate", UNKNOWN_ERROR));
    assertThatThrownBy(() -> nvml.watch(0)).hasMessageContaining("event set");
    fake.state(gpu(0, ""));
    assertThat(nvml.watch(0)).isTrue();
  }

  @Test
  void xid_isNotLost_whenCountingFails() throws Exception {
    open(gpu(0, ""), gpu(1, ""));
    nvml.watch(0);
    nvml.watch(1);
    fake.state(
        gpu(0, ""),
        gpu(1, ""),
        "xid gpu=1 code=79 seq=1",
        answer("nvmlDeviceGetCount_v2", UNKNOWN_ERROR));
    assertThat(nvml.awaitEvent(0)).contains(new GpuEvent(1, 79));
  }

  @Test
  void gpuThatFailsToSayItsEvents_isNotReadFromStaleMemory() throws Exception {
    open(gpu(0, ""), answer("nvmlDeviceGetSupportedEventTypes", UNKNOWN_ERROR));
    assertThatThrownBy(() -> nvml.watch(0)).hasMessageContaining("which events it has");
  }

  @Test
  void gpu_isOfUse_whereNvmlMakesNoEventSet() throws Exception {
    open(gpu(0, "sm=5"), answer("nvmlEventSetCreate", NOT_SUPPORTED));
    assertThat(nvml.watch(0)).isFalse();
    assertThat(nvml.read(0).smPercent()).isEqualTo(5);
  }

  @Test
  void functionsThatPlacementCanDoWithout_mayBeMissing() throws Exception {
    String[] optional = called().filter(name -> !REQUIRED.contains(name)).toArray(String[]::new);
    FakeNvml poor = FakeNvml.without("driver-root-poor", optional);
    poor.state(gpu(0, ""));
    try (Nvml nvml = JnaNvml.open(poor.root())) {
      assertThat(nvml.driverVersion()).isEqualTo("unknown");
      assertThat(nvml.info(0).uuid()).isEqualTo("GPU-0");
      assertThat(nvml.watch(0)).isFalse();
      assertThat(nvml.read(0)).isEqualTo(new GpuReading(GpuReading.UNKNOWN, 0, 0));
      assertThat(nvml.processes(0)).isEmpty();
    }
  }

  @Test
  void functionThatIsNeeded_isNamedWhereItIsMissing() throws Exception {
    FakeNvml old =
        FakeNvml.without("driver-root-old", "nvmlDeviceGetMinorNumber", "nvmlErrorString");
    old.state(gpu(0, ""));
    try (Nvml nvml = JnaNvml.open(old.root())) {
      assertThatThrownBy(() -> nvml.info(0))
          .isInstanceOf(NvmlException.class)
          .hasMessageContaining("the library lacks nvmlDeviceGetMinorNumber");
    }
  }

  @Test
  void processes_areAllTold_beyondTheFirstRoom() throws Exception {
    Stream<String> many =
        IntStream.range(0, 700).mapToObj(i -> "process gpu=0 pid=%d used_mib=1".formatted(i + 1));
    open(Stream.concat(Stream.of(gpu(0, "")), many).toArray(String[]::new));
    assertThat(nvml.processes(0)).hasSize(700);
  }

  @Test
  void libraryThatCannotBeLoaded_isSaidWithWhatToDo(@TempDir Path root) throws IOException {
    Path file = root.resolve("usr/lib64/libnvidia-ml.so.1");
    Files.createDirectories(file.getParent());
    Files.writeString(file, "no library");
    assertThatThrownBy(() -> JnaNvml.open(root))
        .isInstanceOf(NvmlException.class)
        .hasMessageContaining(file + " cannot be loaded")
        .hasMessageContaining("architecture")
        .hasMessageNotContaining("class path")
        .hasMessageNotContaining("resource path");
  }
}
