package dev.tranche.nodeplugin.kubelet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Our socket in the kubelet's folder. It can be distinguished from a socket that another plugin
 * puts in its place.
 */
final class SocketFile {
  private final Path path;
  private final Path draft;
  private volatile String ownIdentity = "";

  SocketFile(Path path) {
    this.path = path;
    this.draft = path.resolveSibling("." + path.getFileName() + ".new");
  }

  Path path() {
    return path;
  }

  /**
   * Returns the path to listen on before {@link #publish}. A server that closes deletes the file
   * that it has listened on, and that must not be another plugin's.
   */
  Path draft() {
    return draft;
  }

  /** Deletes an earlier draft. */
  boolean clearDraft() throws IOException {
    return Files.deleteIfExists(draft);
  }

  /** Moves the draft to the socket's path. */
  @Nullable Void publish() throws IOException {
    Files.move(draft, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    ownIdentity = identity();
    return null;
  }

  /** Returns the identity of the socket that is there now. */
  String identity() {
    return identity(path);
  }

  /** Returns a string that is different for each new socket at a path; empty if there is none. */
  static String identity(Path socket) {
    try {
      // An inode's number is soon reused, the time of modification is not. The time of change would
      // also differ after a change of mode or owner.
      var attributes = Files.readAttributes(socket, BasicFileAttributes.class);
      return attributes.fileKey() + "@" + attributes.lastModifiedTime().to(TimeUnit.NANOSECONDS);
    } catch (IOException gone) {
      return "";
    }
  }

  boolean isOurs(String identity) {
    return !identity.isEmpty() && identity.equals(ownIdentity);
  }

  @Nullable Void delete() throws IOException {
    if (isOurs(identity())) {
      Files.deleteIfExists(path);
    }
    return null;
  }

  /**
   * Returns whether the folder was deleted although a path to it is left, such as a container's
   * mount. No file can be created in it any more.
   */
  static boolean removed(Path folder) {
    try {
      return (int) Files.getAttribute(folder, "unix:nlink") == 0;
    } catch (IOException notThere) {
      return false;
    }
  }
}
