package dev.tranche.nodeplugin.mps;

import com.sun.jna.LastErrorException;
import dev.tranche.nodeplugin.file.FileAccess;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Sets SELinux's label of a folder that pods use. */
final class SecurityLabel {
  private static final Path SELINUX = Path.of("/sys/fs/selinux/enforce");
  // NVIDIA's plugin sets the same label: any container may read and write such files. New files in
  // the folder inherit it.
  private static final String OF_CONTAINERS = "system_u:object_r:container_file_t:s0\0";

  private SecurityLabel() {}

  /** Does nothing where SELinux is off. */
  static void letContainersUse(Path folder) throws MpsException {
    if (!FileAccess.exists(SELINUX)) {
      return;
    }
    byte[] label = OF_CONTAINERS.getBytes(StandardCharsets.UTF_8);
    try {
      LinuxCalls.setxattr(folder.toString(), "security.selinux", label, label.length, 0);
    } catch (LastErrorException e) {
      throw new MpsException(
          folder + " does not take the SELinux label of containers: " + LinuxCalls.text(e));
    }
  }
}
