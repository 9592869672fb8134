package dev.tranche.e2e.gpu;

import dev.tranche.e2e.cluster.Node;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;

/**
 * The GPUs of one node, and the file that its fake NVML reads. Each change is written at once, by a
 * rename, so that a reader never sees half a file.
 */
public final class NodeGpus {
  private static final String LIBRARY_FOLDER = "usr/lib64";

  private final Path stateFile;
  private final List<Map<String, String>> gpus = new ArrayList<>();
  private final List<String> xids = new ArrayList<>();
  private final Map<List<Integer>, String> processes = new LinkedHashMap<>();
  private final Map<Integer, String> migDevices = new LinkedHashMap<>();
  private final Set<String> hangingFunctions = new LinkedHashSet<>();

  private String driver = "";

  private NodeGpus(Path stateFile) {
    this.stateFile = stateFile;
  }

  /**
   * Fills a driver's folder with the library and the state of idle GPUs.
   *
   * @param driverFolder the folder on the host; the node has it at {@link Node#DRIVER_ROOT}
   * @param library the fake {@code libnvidia-ml.so.1}
   * @param node the node's name, from which the uuids are derived, so that they are always the same
   */
  public static NodeGpus create(Path driverFolder, Path library, String node, List<Model> models) {
    Path folder = driverFolder.resolve(LIBRARY_FOLDER);
    try {
      Files.createDirectories(folder);
      Files.copy(library, folder.resolve("libnvidia-ml.so.1"), StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    var gpus = new NodeGpus(folder.resolve("gpus.state"));
    models.forEach(model -> gpus.add(node, model));
    gpus.write();
    return gpus;
  }

  /** Gives a driver the program that starts MPS's control daemon. */
  public static void addMps(Path driverFolder, Path program) {
    try {
      Path folder = Files.createDirectories(driverFolder.resolve("usr/bin"));
      Path copy = folder.resolve(program.getFileName().toString());
      Files.copy(
          program, copy, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.COPY_ATTRIBUTES);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void add(String node, Model model) {
    int index = gpus.size();
    var gpu = new LinkedHashMap<String, String>();
    gpu.put("index", Integer.toString(index));
    gpu.put("uuid", uuid(node, index));
    gpu.put("model", "\"" + model.name() + "\"");
    gpu.put("memory_mib", Integer.toString(model.memoryMib()));
    gpu.put("reserved_mib", Integer.toString(model.reservedMib()));
    gpu.put("cc", model.computeCapability());
    gpu.put("used_mib", "0");
    gpu.put("sm", "0");
    gpus.add(gpu);
  }

  private static String uuid(String node, int index) {
    return "GPU-" + UUID.nameUUIDFromBytes((node + "/" + index).getBytes(StandardCharsets.UTF_8));
  }

  /** The folder on this machine with the library and the state of its GPUs. */
  public Path libraryFolder() {
    return Objects.requireNonNull(stateFile.getParent());
  }

  public int count() {
    return gpus.size();
  }

  public String uuid(int index) {
    return value(index, "uuid");
  }

  /** Returns the index of a GPU of this node. */
  public int index(String uuid) {
    for (int index = 0; index < gpus.size(); index++) {
      if (uuid(index).equals(uuid)) {
        return index;
      }
    }
    throw new IllegalArgumentException("no GPU " + uuid);
  }

  /** Returns the memory that programs can use. */
  public int usableMib(int index) {
    return Integer.parseInt(value(index, "memory_mib"))
        - Integer.parseInt(value(index, "reserved_mib"));
  }

  public String model(int index) {
    return value(index, "model").replace("\"", "");
  }

  /**
   * Makes it another driver.
   *
   * @param keys as the simulated NVML reads them; empty: the driver of before
   */
  public void driver(String keys) {
    driver = keys;
    write();
  }

  /** Makes a GPU as busy as this from now on. */
  public void load(int index, int smPercent, int usedMib) {
    gpus.get(index).put("sm", Integer.toString(smPercent));
    gpus.get(index).put("used_mib", Integer.toString(usedMib));
    write();
  }

  /** Lets a GPU have GPM, whose values are 0. */
  public void addGpm(int index) {
    gpus.get(index).put("gpm", "1");
    write();
  }

  /** All GPUs idle, and no process on any. */
  public void idle() {
    processes.clear();
    for (int i = 0; i < gpus.size(); i++) {
      load(i, 0, 0);
    }
  }

  public void setLost(int index, boolean lost) {
    gpus.get(index).put("lost", lost ? "1" : "0");
    write();
  }

  /** Lets a function of NVML not return, or return again. */
  public void hang(String function, boolean hangs) {
    if (hangs ? hangingFunctions.add(function) : hangingFunctions.remove(function)) {
      write();
    }
  }

  /** Adds a process of the node to a GPU, which has its load and memory until it ends. */
  public void process(int index, int pid, int usedMib, int smPercent) {
    processes.put(
        List.of(index, pid),
        "process gpu=%d pid=%d used_mib=%d sm=%d real=1".formatted(index, pid, usedMib, smPercent));
    write();
  }

  /**
   * Adds a process that wants so much memory of a GPU, and gets what the limits of its cgroups
   * leave.
   *
   * @param cgroup folder of the cgroup, as whoever asks NVML sees it
   */
  public void process(int index, int pid, int wantedMib, String cgroup) {
    processes.put(
        List.of(index, pid),
        "process gpu=%d pid=%d used_mib=%d sm=0 cgroup=%s"
            .formatted(index, pid, wantedMib, cgroup));
    write();
  }

  /** All processes have ended. */
  public void clearProcesses() {
    processes.clear();
    write();
  }

  /** An XID event, delivered once to everyone who listens. */
  public void xid(int index, int code) {
    xids.add("xid gpu=%d code=%d seq=%d".formatted(index, code, xids.size() + 1));
    write();
  }

  /** Turns MIG on for a GPU, with one MIG device of this profile. */
  public void mig(int index, String profile, int memoryMib) {
    gpus.get(index).put("mig", "1");
    migDevices.put(
        index,
        "mig gpu=%d index=0 uuid=%s profile=%s gi=7 ci=0 memory_mib=%d used_mib=0"
            .formatted(index, migUuid(index), profile, memoryMib));
    write();
  }

  /** Turns MIG off on all GPUs. */
  public void removeMig() {
    gpus.forEach(gpu -> gpu.remove("mig"));
    migDevices.clear();
    write();
  }

  public String migUuid(int index) {
    return uuid(index).replaceFirst("GPU-", "MIG-");
  }

  /** Returns the number of GPUs with MIG off. */
  public int nonMigCount() {
    return gpus.size() - migDevices.size();
  }

  private String value(int index, String key) {
    String value = gpus.get(index).get(key);
    if (value == null) {
      throw new IllegalArgumentException("gpu " + index + " has no " + key);
    }
    return value;
  }

  private void write() {
    var lines = new ArrayList<String>();
    if (!driver.isEmpty()) {
      lines.add("driver " + driver);
    }
    for (Map<String, String> gpu : gpus) {
      var line = new StringBuilder("gpu");
      gpu.forEach((key, value) -> line.append(' ').append(key).append('=').append(value));
      lines.add(line.toString());
    }
    lines.addAll(migDevices.values());
    lines.addAll(processes.values());
    lines.addAll(xids);
    hangingFunctions.forEach(function -> lines.add("answer function=" + function + " hang=1"));
    try {
      write(stateFile, lines);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Writes a state file by a rename, so that NVML never reads half of one. */
  public static void write(Path stateFile, List<String> lines) throws IOException {
    Path draft = Files.createTempFile(stateFile.getParent(), ".gpus", ".state");
    Files.write(draft, lines);
    // Only its owner may read a temporary file, but the node's processes run as other users.
    Files.setPosixFilePermissions(draft, PosixFilePermissions.fromString("rw-r--r--"));
    Files.move(draft, stateFile, StandardCopyOption.ATOMIC_MOVE);
  }
}
