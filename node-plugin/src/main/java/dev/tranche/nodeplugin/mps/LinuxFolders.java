package dev.tranche.nodeplugin.mps;

import com.sun.jna.LastErrorException;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import dev.tranche.nodeplugin.file.FileAccess;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the folders of MPS need, by calls of the C library that Java lacks. */
final class LinuxFolders {
  private static final Path SELINUX = Path.of("/sys/fs/selinux/enforce");
  // NVIDIA's plugin sets the same label: any container may read and write such files. New files in
  // the folder inherit it.
  private static final String LABEL_OF_CONTAINERS = "system_u:object_r:container_file_t:s0\0";
  private static final long MS_NOSUID = 2;
  private static final long MS_NODEV = 4;
  private static final long MS_NOEXEC = 8;
  private static final long MS_RELATIME = 1 << 21;
  private static final long FLAGS = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME;

  static {
    Native.register(LinuxFolders.class, "c");
  }

  private LinuxFolders() {}

  private static native int mount(
      String source, String target, String type, long flags, String data) throws LastErrorException;

  private static native int setxattr(String path, String name, byte[] value, long size, int flags)
      throws LastErrorException;

  /** Returns the text for an errno value; the C library owns it. */
  private static native Pointer strerror(int error);

  private static MpsException failure(String what, LastErrorException e) {
    return new MpsException(what + ": " + strerror(e.getErrorCode()).getString(0));
  }

  /**
   * Mounts the memory file system that daemon and clients have as their /dev/shm, also on the host
   * if the folder's mounts are propagated. It takes at most half of the memory. An existing mount
   * stays, since clients of an earlier daemon may be using it.
   */
  static void mountShm(Path folder) throws MpsException, IOException {
    Files.createDirectories(folder);
    if (isMountPoint(folder)) {
      return;
    }
    try {
      mount("shm", folder.toString(), "tmpfs", FLAGS, "size=50%");
    } catch (LastErrorException e) {
      throw failure(
          folder
              + " cannot be mounted as tmpfs; the init container must be privileged, with"
              + " mountPropagation Bidirectional",
          e);
    }
  }

  /** Returns whether another file system begins there. */
  static boolean isMountPoint(Path folder) throws IOException {
    Object above = Files.getAttribute(folder.resolve(".."), "unix:dev");
    return !Files.getAttribute(folder, "unix:dev").equals(above);
  }

  /** Sets SELinux's label of a folder that pods use. Does nothing where SELinux is off. */
  static void letContainersUse(Path folder) throws MpsException {
    if (!FileAccess.exists(SELINUX)) {
      return;
    }
    byte[] label = LABEL_OF_CONTAINERS.getBytes(StandardCharsets.UTF_8);
    try {
      setxattr(folder.toString(), "security.selinux", label, label.length, 0);
    } catch (LastErrorException e) {
      throw failure(folder + " does not take the SELinux label of containers", e);
    }
  }
}
