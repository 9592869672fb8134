package dev.tranche.nodeplugin.kubelet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Our socket in the kubelet's folder, told from the one that another plugin may put in its place.
 */
final class SocketFile {
  private final Path path;
  private final Path draft;
  private volatile String ours = "";

  SocketFile(Path path) {
    this.path = path;
    this.draft = path.resolveSibling("." + path.getFileName() + ".new");
  }

  Path path() {
    return path;
  }

  /**
   * Where to listen before {@link #publish}: a server deletes the file that it has listened on when
   * it is closed, and that must not be another plugin's.
   */
  Path draft() {
    return draft;
  }

  /** Makes room for the draft. */
  boolean clearDraft() throws IOException {
    return Files.deleteIfExists(draft);
  }

  /** Puts the draft in the socket's place. */
  @Nullable Void publish() throws IOException {
    Files.move(draft, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    ours = identity();
    return null;
  }

  /** Of the socket that is there now. */
  String identity() {
    return identity(path);
  }

  /** Tells a socket from the next one at its place; empty: none there. */
  static String identity(Path socket) {
    try {
      // An inode's number is soon used again, the time is not. Not the time of change: that changes
      // with a mode or an owner, too.
      var attributes = Files.readAttributes(socket, BasicFileAttributes.class);
      return attributes.fileKey() + "@" + attributes.lastModifiedTime().to(TimeUnit.NANOSECONDS);
    } catch (IOException gone) {
      return "";
    }
  }

  boolean ours(String identity) {
    return !identity.isEmpty() && identity.equals(ours);
  }

  @Nullable Void delete() throws IOException {
    if (ours(identity())) {
      Files.deleteIfExists(path);
    }
    return null;
  }

  /**
   * Whether the folder has been removed though a path to it is left, as a container's mount is:
   * nothing can be put into it any more.
   */
  static boolean removed(Path folder) {
    try {
      return (int) Files.getAttribute(folder, "unix:nlink") == 0;
    } catch (IOException notThere) {
      return false;
    }
  }
}
