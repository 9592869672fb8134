package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.file.FileAccess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The control daemon of one set of GPUs. Blocks; confined to one thread. */
final class ControlDaemon {
  static final String PROBE = "get_default_active_thread_percentage";

  /** Far more than the daemon's own arguments and variables. */
  private static final int PROC_BYTES_MAX = 256 << 10;

  private static final Logger LOG = LoggerFactory.getLogger(ControlDaemon.class);
  // Prefix of the names of the daemon's program and of its servers'.
  private static final String PROGRAM_NAMES = "nvidia-cuda-mps-";
  private static final String PIPE_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY";
  private static final long LOG_BYTES_MAX = 16 << 20;
  private static final int KILL_WAIT_MS = 2_000;
  private static final int KILL_STEP_MS = 20;
  // The daemon may show 33.0 for 33.
  private static final double PERCENT_SLACK = 0.5;

  private final MpsSet set;
  private final MpsRoot root;
  private final ControlProgram control;
  // This run has set its limits.
  private boolean started;

  ControlDaemon(String program, MpsSet set, MpsRoot root) {
    this.set = set;
    this.root = root;
    this.control =
        new ControlProgram(program, environment(), root.of(set.resource()).resolve("output"));
  }

  private Map<String, String> environment() {
    Map<String, String> env = new HashMap<>();
    env.put(PIPE_VARIABLE, root.pipe(set.resource()).toString());
    env.put("CUDA_MPS_LOG_DIRECTORY", root.log(set.resource()).toString());
    if (!set.visibleDevices().isEmpty()) {
      env.put("CUDA_VISIBLE_DEVICES", set.visibleDevices());
    }
    return env;
  }

  MpsSet set() {
    return set;
  }

  /** Starts the daemon with its limits. First ends a daemon that an earlier run has left. */
  void start() throws MpsException, InterruptedException {
    started = false;
    try {
      Files.createDirectories(root.log(set.resource()));
      Files.createDirectories(root.pipe(set.resource()));
      LinuxFolders.letContainersUse(root.pipe(set.resource()));
      end();
      control.daemon();
      for (String command : set.commands()) {
        LOG.info("{}: {}", set.resource(), command);
        control.command(command);
      }
      started = true;
      probe();
    } catch (IOException e) {
      throw new MpsException("the folder of " + set.resource() + " cannot be made: " + e);
    }
  }

  boolean alive() {
    return process().isPresent();
  }

  /** Throws unless this run has started the daemon, and it answers and still has its limits. */
  void probe() throws MpsException, InterruptedException {
    if (!started || process().isEmpty()) {
      throw new MpsException("the daemon of " + set.resource() + " is not running");
    }
    String answer = control.command(PROBE);
    if (!matches(answer, set.threadPercentage())) {
      throw new MpsException(
          "the daemon of %s has an active thread percentage of %s, and was set to %d: it is another daemon"
              .formatted(set.resource(), answer, set.threadPercentage()));
    }
  }

  private static boolean matches(String answer, int percentage) {
    try {
      return Math.abs(Double.parseDouble(answer) - percentage) <= PERCENT_SLACK;
    } catch (NumberFormatException notAFigure) {
      // The daemon answered; only its number format is new.
      return true;
    }
  }

  /** Asks the daemon to quit, and kills it if it does not. Its clients lose it in either case. */
  void stop() throws InterruptedException {
    try {
      end();
    } catch (IOException e) {
      LOG.warn("{}: {}", set.resource(), e.toString());
    }
  }

  private void end() throws IOException, InterruptedException {
    Optional<ProcessHandle> running = process();
    List<ProcessHandle> all =
        Stream.concat(
                running.stream().flatMap(p -> Stream.concat(Stream.of(p), p.descendants())),
                orphans())
            .distinct()
            .toList();
    if (running.isPresent()) {
      quit();
    }
    for (ProcessHandle process : all) {
      if (!ended(process)) {
        LOG.warn("process {} of {} does not quit, killing it", process.pid(), set.resource());
        process.destroyForcibly();
        ended(process);
      }
    }
    Files.deleteIfExists(pidFile());
  }

  private void quit() throws InterruptedException {
    try {
      control.command("quit");
    } catch (MpsException e) {
      LOG.warn("{}: {}", set.resource(), e.getMessage());
    }
  }

  // A server that outlives its daemon blocks the GPU for the next one. A killed daemon has no
  // descendants any more; its servers are found by the pipe folder in their environment.
  private Stream<ProcessHandle> orphans() {
    String pipe = PIPE_VARIABLE + "=" + root.pipe(set.resource());
    return ProcessHandle.allProcesses()
        .filter(process -> readProc(process, "cmdline").contains(PROGRAM_NAMES))
        .filter(process -> List.of(readProc(process, "environ").split("\\x00")).contains(pipe));
  }

  // Checks the command line, which an ended process no longer has. The process may stay a zombie:
  // it is not our child, and its parent now depends on the container.
  private static boolean ended(ProcessHandle process) throws InterruptedException {
    for (int waitedMs = 0; waitedMs < KILL_WAIT_MS; waitedMs += KILL_STEP_MS) {
      if (!readProc(process, "cmdline").contains(PROGRAM_NAMES)) {
        return true;
      }
      Thread.sleep(KILL_STEP_MS);
    }
    return false;
  }

  // The pid in the file may belong to any process by now, on the host too.
  private Optional<ProcessHandle> process() {
    try {
      return ProcessHandle.of(Long.parseLong(FileAccess.text(pidFile())))
          .filter(p -> readProc(p, "cmdline").contains(PROGRAM_NAMES));
    } catch (NumberFormatException noPid) {
      return Optional.empty();
    }
  }

  // A process may show as many arguments as it likes.
  private static String readProc(ProcessHandle process, String file) {
    Path path = Path.of("/proc", Long.toString(process.pid()), file);
    return FileAccess.beginning(path, PROC_BYTES_MAX);
  }

  private Path pidFile() {
    return root.pipe(set.resource()).resolve("nvidia-cuda-mps-control.pid");
  }

  /** Empties a large log of the daemon, which each probe adds to: it is held in memory. */
  void trimLog() {
    Path log = root.log(set.resource()).resolve("control.log");
    try {
      if (Files.exists(log) && Files.size(log) > LOG_BYTES_MAX) {
        Files.write(log, new byte[0]);
      }
    } catch (IOException e) {
      LOG.warn("{}: cannot truncate the log: {}", set.resource(), e.toString());
    }
  }
}
