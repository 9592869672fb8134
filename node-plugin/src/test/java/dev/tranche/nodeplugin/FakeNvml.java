package dev.tranche.nodeplugin;

import dev.tranche.process.Programs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The simulated NVML of e2e/fakenvml, compiled into a driver root below target. One for the JVM:
 * once it is loaded, the loader finds it by its name alone, so another copy would not be used.
 */
public final class FakeNvml {
  private static final AtomicInteger WRITES = new AtomicInteger();

  private final Path folder;
  private final Path root;

  private FakeNvml(Path root) {
    this.root = root;
    this.folder = root.resolve("usr/lib64");
  }

  public static FakeNvml compiled() throws IOException, InterruptedException {
    return compiled("driver-root", "");
  }

  /**
   * One whose library lacks these functions. Only where no other is loaded in this JVM.
   *
   * @param folder below target
   */
  public static FakeNvml without(String folder, String... functions)
      throws IOException, InterruptedException {
    return compiled(folder, String.join(" ", functions));
  }

  private static FakeNvml compiled(String folder, String without)
      throws IOException, InterruptedException {
    FakeNvml fake = new FakeNvml(ofThisJvm(folder));
    Path sources = Path.of("../e2e/fakenvml").toAbsolutePath().normalize();
    Programs.output(
        "make", "-s", "-C", sources.toString(), "OUT=" + fake.folder, "WITHOUT=" + without);
    return fake;
  }

  /** Of the JVMs that run tests side by side, below target. */
  static Path ofThisJvm(String folder) {
    return Path.of("target", System.getProperty("tranche.fork", "fork-1"), folder).toAbsolutePath();
  }

  public Path root() {
    return root;
  }

  public Path library() {
    return folder.resolve("libnvidia-ml.so.1");
  }

  /** Replaces the state as a whole, by rename. */
  public void state(String... lines) throws IOException {
    Path fresh = folder.resolve("gpus.state." + WRITES.incrementAndGet());
    Files.writeString(fresh, String.join("\n", lines) + "\n");
    Files.move(fresh, folder.resolve("gpus.state"), StandardCopyOption.REPLACE_EXISTING);
  }

  /** Sets the limit of a cgroup, as NVIDIA's hook does for a container's; 0: none. */
  public void limit(int gpu, Path cgroup, long hardBytes) throws IOException {
    Path file =
        folder.resolve(
            "gpus.state.limit.%d.%s.%s"
                .formatted(
                    gpu,
                    Files.getAttribute(cgroup, "unix:dev"),
                    Files.getAttribute(cgroup, "unix:ino")));
    if (hardBytes == 0) {
      Files.delete(file);
    } else {
      Files.writeString(file, "0 " + hardBytes);
    }
  }

  /** The compute mode that somebody has set, as NVML's number. */
  public int computeMode(int index) {
    try {
      return Files.exists(computeModeFile(index))
          ? Integer.parseInt(Files.readString(computeModeFile(index)).strip())
          : 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public void computeMode(int index, int mode) throws IOException {
    Files.writeString(computeModeFile(index), mode + "\n");
  }

  private Path computeModeFile(int index) {
    return folder.resolve("gpus.state.compute_mode." + index);
  }

  /** Puts the file of CUDA's library there, and no other version's. */
  public void libcuda(String version) throws IOException {
    try (var files = Files.newDirectoryStream(folder, "libcuda.so.*")) {
      for (Path file : files) {
        Files.delete(file);
      }
    }
    Files.createFile(folder.resolve("libcuda.so." + version));
  }

  public static String gpu(int index, String more) {
    return "gpu index=%d uuid=GPU-%d model=\"Tesla T4\" memory_mib=15360 reserved_mib=450 %s"
        .formatted(index, index, more);
  }
}
