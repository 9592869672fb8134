package dev.tranche.e2e.install;

import dev.tranche.e2e.cluster.Cluster;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The processes of a cluster's pods. Its nodes are containers, so this machine shows them all,
 * under other numbers than a node does.
 */
public final class PodProcesses {
  private static final Path PROC = Path.of("/proc");

  private PodProcesses() {}

  /** Returns the id of a process of the pod's first container, as its node numbers it. */
  public static int onNode(Cluster cluster, Pod pod) {
    String id = pod.getStatus().getContainerStatuses().getFirst().getContainerID();
    String ofContainer = id.substring(id.lastIndexOf('/') + 1);
    // Processes end while grep reads them, so its status says nothing.
    var files =
        cluster.exec(
            pod.getSpec().getNodeName(),
            "sh",
            "-c",
            "grep -l " + ofContainer + " /proc/[0-9]*/cgroup");
    String file =
        files
            .out()
            .lines()
            .findFirst()
            .orElseThrow(
                () ->
                    new AssertionError(
                        "no process of pod " + pod.getMetadata().getName() + ": " + id));
    return Integer.parseInt(file.split("/")[2]);
  }

  /** What a process holds of things that could leak. */
  public record Use(long threads, long descriptors, long memoryKib) {}

  /**
   * Returns the process ids of a pod's programs, as this machine numbers them.
   *
   * @param program as the kernel names it, such as {@code java}
   */
  public static List<String> onHost(Pod pod, String program) {
    String uid = pod.getMetadata().getUid();
    String underscored = uid.replace('-', '_');
    try (Stream<Path> folders = Files.list(PROC)) {
      return folders
          .filter(folder -> folder.getFileName().toString().matches("\\d+"))
          .filter(folder -> read(folder.resolve("comm")).strip().equals(program))
          .filter(
              folder -> {
                String group = read(folder.resolve("cgroup"));
                return group.contains(uid) || group.contains(underscored);
              })
          .map(folder -> folder.getFileName().toString())
          .toList();
    } catch (IOException e) {
      return List.of();
    }
  }

  /** Sends a signal, such as {@code KILL}. */
  public static void signal(String pid, String signal) throws IOException {
    Shell.run(new ProcessBuilder("kill", "-" + signal, pid).redirectErrorStream(true));
  }

  public static boolean exists(String pid) {
    return Files.exists(PROC.resolve(pid).resolve("exe"));
  }

  /** Whether a signal has stopped it. */
  public static boolean isStopped(String pid) {
    return field(read(PROC.resolve(pid).resolve("status")), "State:").startsWith("T");
  }

  public static Use use(String pid) {
    String status = read(PROC.resolve(pid).resolve("status"));
    long descriptors;
    try (Stream<Path> open = Files.list(PROC.resolve(pid).resolve("fd"))) {
      descriptors = open.count();
    } catch (IOException gone) {
      descriptors = 0;
    }
    return new Use(number(field(status, "Threads:")), descriptors, number(field(status, "VmRSS:")));
  }

  private static String field(String status, String name) {
    return status
        .lines()
        .filter(line -> line.startsWith(name))
        .map(line -> line.substring(name.length()).strip())
        .findFirst()
        .orElse("");
  }

  private static long number(String text) {
    String digits = text.replaceAll("\\D", "");
    return digits.isEmpty() ? 0 : Long.parseLong(digits);
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException gone) {
      return "";
    }
  }
}
