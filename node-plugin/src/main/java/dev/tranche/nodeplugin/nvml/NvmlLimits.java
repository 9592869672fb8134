package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;

/** Reads memory limits by cgroup, which drivers have since R615. */
final class NvmlLimits {
  // nvmlGetMemoryLimits_v1_t: nameSpace, softLimit, hardLimit, currentUsed.
  private static final int SCRATCH_BYTES = 32;
  private static final int GET_HARD_OFFSET = 16;
  private static final int GET_USED_OFFSET = 24;
  private static final long UNLIMITED = -1;

  private final Memory scratch = new Memory(SCRATCH_BYTES);
  private final NvmlFunctions functions;

  NvmlLimits(NvmlFunctions functions) {
    this.functions = functions;
  }

  Optional<MemoryLimit> get(String gpu, long device, Path cgroup) {
    byte[] text = Native.toByteArray(cgroup.toString(), StandardCharsets.UTF_8);
    try (Memory path = new Memory(text.length)) {
      path.write(0, text, 0, text.length);
      scratch.clear();
      scratch.setPointer(0, path);
      int result = functions.call("nvmlDeviceGetMemoryLimits_v1", device, scratch);
      // One backend has no limit of its own to tell, the other tells "no limit".
      if (result == NvmlCode.NOT_SUPPORTED || result == NvmlCode.NOT_FOUND) {
        return Optional.empty();
      }
      functions.check(result, gpu + " tells no memory limit of " + cgroup);
      long hardBytes = scratch.getLong(GET_HARD_OFFSET);
      return hardBytes == UNLIMITED
          ? Optional.empty()
          : Optional.of(new MemoryLimit(hardBytes, scratch.getLong(GET_USED_OFFSET)));
    }
  }
}
