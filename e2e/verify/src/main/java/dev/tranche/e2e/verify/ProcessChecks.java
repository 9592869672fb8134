package dev.tranche.e2e.verify;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** Traces the processes that NVML lists to the containers that they belong to. */
final class ProcessChecks {
  private static final String AREA = "Processes";
  private static final Pattern POD = Pattern.compile("[/-]pod[0-9a-f]{8}[-_0-9a-f]{24,}");

  private final Report report;

  ProcessChecks(Report report) {
    this.report = report;
  }

  /**
   * Looks each process up.
   *
   * @param pids the ids of the processes that compute, as NVML lists them
   */
  void run(List<Integer> pids) throws InterruptedException {
    if (pids.isEmpty()) {
      String none = "no process computes on a GPU; run this again beside a CUDA program";
      report.add(AREA, "process to cgroup", CheckStatus.NOT_AVAILABLE, none);
      return;
    }
    cgroups(pids);
    besideSmi(pids);
  }

  private void cgroups(List<Integer> pids) {
    int found = 0;
    int inPods = 0;
    for (int pid : pids) {
      try {
        String cgroup = Files.readString(Path.of("/proc", Integer.toString(pid), "cgroup"));
        found++;
        inPods += POD.matcher(cgroup).find() ? 1 : 0;
      } catch (IOException hidden) {
        // Of another PID namespace, or it has ended.
      }
    }
    report.add(
        AREA,
        "process to cgroup",
        found > 0 ? CheckStatus.OK : CheckStatus.DIFFERS,
        "%d processes, %d of them visible in /proc, %d in pods"
            .formatted(pids.size(), found, inPods));
  }

  private void besideSmi(List<Integer> pids) throws InterruptedException {
    String name = "beside nvidia-smi";
    Optional<Tool> smi = Tool.find("nvidia-smi");
    if (smi.isEmpty()) {
      report.add(AREA, name, CheckStatus.NOT_AVAILABLE, "there is no nvidia-smi on the PATH");
      return;
    }
    try {
      Set<Integer> theirs = new HashSet<>();
      smi.get()
          .run("--query-compute-apps=pid", "--format=csv,noheader")
          .lines()
          .map(String::strip)
          .filter(line -> line.matches("\\d+"))
          .forEach(line -> theirs.add(Integer.valueOf(line)));
      boolean same = theirs.equals(Set.copyOf(pids));
      report.add(
          AREA,
          name,
          same ? CheckStatus.OK : CheckStatus.DIFFERS,
          "%d processes, nvidia-smi lists %d".formatted(Set.copyOf(pids).size(), theirs.size()));
    } catch (IOException e) {
      report.add(AREA, name, CheckStatus.NOT_AVAILABLE, String.valueOf(e.getMessage()));
    }
  }
}
