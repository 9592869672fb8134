package dev.tranche.e2e.bench.soak;

import dev.tranche.e2e.install.Shell;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The processes of a cluster's pods. Its nodes are containers, so this machine shows them all. */
final class Processes {
  private static final Path PROC = Path.of("/proc");

  private Processes() {}

  /** What a process holds of things that could leak. */
  record Use(long threads, long descriptors, long memoryKib) {}

  /**
   * Returns the process ids of a pod's programs.
   *
   * @param program as the kernel names it, such as {@code java}
   */
  static List<String> of(Pod pod, String program) {
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
  static void signal(String pid, String signal) throws IOException {
    Shell.run(new ProcessBuilder("kill", "-" + signal, pid).redirectErrorStream(true));
  }

  static boolean exists(String pid) {
    return Files.exists(PROC.resolve(pid).resolve("exe"));
  }

  /** Whether a signal has stopped it. */
  static boolean isStopped(String pid) {
    return field(read(PROC.resolve(pid).resolve("status")), "State:").startsWith("T");
  }

  static Use use(String pid) {
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
