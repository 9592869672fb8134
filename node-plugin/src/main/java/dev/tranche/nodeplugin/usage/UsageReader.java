package dev.tranche.nodeplugin.usage;

import dev.tranche.nodeplugin.file.FileAccess;
import dev.tranche.nodeplugin.nvml.GpuProcess;
import dev.tranche.nodeplugin.nvml.GpuReading;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Finds the containers of a GPU's processes, from pid to cgroup to pod. Leaves out processes of the
 * host itself, and MPS servers, whose memory is their clients'. Confined to the thread that calls
 * NVML.
 */
public final class UsageReader {
  /** How long the owner of a pid is cached; a pid may be another process's by then. */
  private static final long OWNER_CACHE_MS = 10_000;

  /** The longest path. */
  private static final int PROGRAM_BYTES_MAX = 4 << 10;

  /** A path for each of the hierarchies of cgroup v1. */
  private static final int CGROUP_BYTES_MAX = 64 << 10;

  private static final String MPS_SERVER = "nvidia-cuda-mps-server";

  private final Path proc;
  private final PodNames names;
  private final LongSupplier clockMs;
  private final Map<Integer, Owner> owners = new HashMap<>();
  private final Set<Integer> seenPids = new HashSet<>();

  private record Owner(Optional<ContainerName> container, long readAtMs) {}

  /**
   * @param proc the host's {@code /proc}, or one that shows its processes
   * @param log the host's {@code /var/log}
   */
  public UsageReader(Path proc, Path log, LongSupplier clockMs) {
    this.proc = proc;
    this.names = new PodNames(log, clockMs);
    this.clockMs = clockMs;
  }

  /** Returns why the pods of processes cannot be found; empty if they can. */
  public Optional<String> problem() {
    return names.problem();
  }

  /** Returns the use of one GPU by container; in sum no more than the reading of the same GPU. */
  public List<ContainerUse> of(List<GpuProcess> processes, GpuReading reading) {
    Map<ContainerName, ContainerUse> byContainer = new LinkedHashMap<>();
    for (GpuProcess process : processes) {
      seenPids.add(process.pid());
      owner(process.pid())
          .map(who -> new ContainerUse(who, process.memoryUsedBytes(), process.smPercent()))
          .ifPresent(use -> byContainer.merge(use.container(), use, ContainerUse::plus));
    }
    return scaled(byContainer.values(), reading.memoryUsedBytes(), reading.smPercent());
  }

  /**
   * Scales the parts so that their sum is within the whole: NVML reads both at different moments.
   */
  private static List<ContainerUse> scaled(
      Collection<ContainerUse> uses, long memoryBytes, int smPercent) {
    long memory = uses.stream().mapToLong(use -> Math.max(0, use.memoryUsedBytes())).sum();
    double sm = uses.stream().mapToDouble(ContainerUse::smPercent).sum();
    double ofMemory = memoryBytes >= 0 && memory > memoryBytes ? (double) memoryBytes / memory : 1;
    double ofSm = sm > smPercent ? smPercent / sm : 1;
    return uses.stream()
        .map(
            use ->
                new ContainerUse(
                    use.container(),
                    (long) Math.floor(use.memoryUsedBytes() * ofMemory),
                    use.smPercent() * ofSm))
        .toList();
  }

  private Optional<ContainerName> owner(int pid) {
    long nowMs = clockMs.getAsLong();
    Owner known = owners.get(pid);
    if (known != null && nowMs - known.readAtMs() < OWNER_CACHE_MS) {
      return known.container();
    }
    Optional<ContainerName> container =
        mpsServer(pid) ? Optional.empty() : cgroup(pid).flatMap(names::of);
    owners.put(pid, new Owner(container, nowMs));
    return container;
  }

  // Its pod is the control daemon's, which holds no replicas and would seem to overuse forever.
  private boolean mpsServer(int pid) {
    // A process may have megabytes of arguments, as many as it likes.
    String line = FileAccess.beginning(process(pid).resolve("cmdline"), PROGRAM_BYTES_MAX);
    String program = line.split("\0", 2)[0];
    return program.substring(program.lastIndexOf('/') + 1).equals(MPS_SERVER);
  }

  // The process may have ended since, and one of another PID namespace is not visible at all.
  private Optional<CgroupPath> cgroup(int pid) {
    return CgroupPath.parse(FileAccess.beginning(process(pid).resolve("cgroup"), CGROUP_BYTES_MAX));
  }

  private Path process(int pid) {
    return proc.resolve(Integer.toString(pid));
  }

  /** Called when every GPU has been sampled. Forgets processes that are on no GPU. */
  public void sampled() {
    owners.keySet().retainAll(seenPids);
    seenPids.clear();
  }
}
