package dev.tranche.e2e.verify;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import dev.tranche.e2e.verify.FunctionResults.Answer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Sets a memory limit on a cgroup made for it, reads it back and clears it, on each GPU. Drivers
 * older than R615 lack both functions.
 */
final class MemoryLimitProbe {
  private static final String SET = "nvmlDeviceSetMemoryLimits_v1";
  private static final String GET = "nvmlDeviceGetMemoryLimits_v1";
  private static final String CGROUP = "tranche-verify-gpu";
  private static final long HARD_BYTES = 256L << 20;

  /** The offsets in both structures of NVML's header: a pointer, and three numbers of 8 bytes. */
  private static final int SOFT = 8;

  private static final int HARD = 16;
  private static final int USED = 24;
  private static final int BYTES = 32;

  private final Path cgroups =
      Path.of(System.getProperty("tranche.verify.cgroups", "/sys/fs/cgroup"));
  private final NvmlProbe probe;
  private final Memory limits = new Memory(BYTES);

  MemoryLimitProbe(NvmlProbe probe) {
    this.probe = probe;
  }

  /**
   * @param devices handles of GPUs by index
   */
  void run(Map<Integer, Long> devices) {
    Optional<Function> set = probe.function(SET);
    Optional<Function> get = probe.function(GET);
    if (set.isEmpty() || get.isEmpty()) {
      return;
    }
    if (!Files.exists(cgroups.resolve("cgroup.controllers"))) {
      skip("cgroup v1: the driver needs cgroup v2");
      return;
    }
    Path cgroup = cgroups.resolve(CGROUP);
    try {
      Files.createDirectories(cgroup);
      try {
        run(devices, set.get(), get.get(), cgroup);
      } finally {
        Files.deleteIfExists(cgroup);
      }
    } catch (IOException e) {
      skip("the cgroup %s cannot be made: %s".formatted(cgroup, e));
    }
  }

  private void skip(String why) {
    probe.skip(SET, why);
    probe.skip(GET, why);
  }

  private void run(Map<Integer, Long> devices, Function set, Function get, Path cgroup) {
    byte[] text = (cgroup + "\0").getBytes(StandardCharsets.UTF_8);
    try (Memory path = new Memory(text.length)) {
      path.write(0, text, 0, text.length);
      List<Answer> taken = new ArrayList<>();
      List<Answer> readBack = new ArrayList<>();
      devices.forEach(
          (index, handle) -> {
            String target = Integer.toString(index);
            int code = set(set, handle, path, HARD_BYTES);
            if (code == NvmlCodes.SUCCESS) {
              readBack.add(readBack(get, target, handle, path));
              code = set(set, handle, path, -1);
            } else {
              readBack.add(new Answer(target, code, ""));
            }
            taken.add(new Answer(target, code, "took a limit and cleared it"));
          });
      probe.put(SET, taken);
      probe.put(GET, readBack);
    }
  }

  private int set(Function set, long handle, Memory path, long hardBytes) {
    limits.clear();
    limits.setPointer(0, path);
    limits.setLong(HARD, hardBytes);
    return probe.call(set, handle, limits);
  }

  private Answer readBack(Function get, String target, long handle, Memory path) {
    limits.clear();
    limits.setPointer(0, path);
    int code = probe.call(get, handle, limits);
    if (code == NvmlCodes.SUCCESS
        && (limits.getLong(HARD) != HARD_BYTES || limits.getLong(SOFT) != 0)) {
      probe.differs(
          "memory limit read back",
          "GPU %s took a hard limit of %d bytes and a soft limit of 0, and reads back %d and %d"
              .formatted(target, HARD_BYTES, limits.getLong(HARD), limits.getLong(SOFT)));
    }
    return new Answer(
        target,
        code,
        "reads back %d MiB, soft %d MiB, used %d MiB"
            .formatted(
                limits.getLong(HARD) >> 20,
                limits.getLong(SOFT) >> 20,
                limits.getLong(USED) >> 20));
  }
}
