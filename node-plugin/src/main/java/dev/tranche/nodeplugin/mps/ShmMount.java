package dev.tranche.nodeplugin.mps;

import com.sun.jna.LastErrorException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The memory file system that daemon and clients have as their /dev/shm. An existing mount stays,
 * since clients of an earlier daemon may be using it.
 */
final class ShmMount {
  private static final long FLAGS =
      LinuxCalls.MS_NOSUID | LinuxCalls.MS_NODEV | LinuxCalls.MS_NOEXEC | LinuxCalls.MS_RELATIME;

  private ShmMount() {}

  /**
   * Mounts it, also on the host if the folder's mounts are propagated. It takes at most half of the
   * memory.
   */
  static void mount(Path folder) throws MpsException, IOException {
    Files.createDirectories(folder);
    if (isMountPoint(folder)) {
      return;
    }
    try {
      LinuxCalls.mount("shm", folder.toString(), "tmpfs", FLAGS, "size=50%");
    } catch (LastErrorException e) {
      throw new MpsException(
          folder
              + " cannot be mounted as tmpfs: "
              + LinuxCalls.text(e)
              + "; the init container must be privileged, with mountPropagation Bidirectional");
    }
  }

  /** Returns whether another file system begins there. */
  static boolean isMountPoint(Path folder) throws IOException {
    Object above = Files.getAttribute(folder.resolve(".."), "unix:dev");
    return !Files.getAttribute(folder, "unix:dev").equals(above);
  }
}
