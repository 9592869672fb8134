package dev.tranche.nodeplugin.kubelet;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Our socket in the kubelet's folder. It can be distinguished from another file that is put in its
 * place.
 */
record SocketFile(Path path, String ownIdentity) {
  /** Returns the socket at a path that this process listens on. */
  static SocketFile listenedOn(Path path) {
    return new SocketFile(path, identity(path));
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

  /** Returns whether a process listens on a socket. One that was killed has left only its file. */
  static boolean isListenedOn(Path socket) {
    try (var channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      // A process that hangs may have its queue full.
      channel.configureBlocking(false);
      channel.connect(UnixDomainSocketAddress.of(socket));
      return true;
    } catch (IOException refused) {
      return false;
    }
  }

  /** Returns whether the socket that we listen on is still at its path. */
  boolean isThere() {
    return !ownIdentity.isEmpty() && ownIdentity.equals(identity(path));
  }

  @Nullable Void delete() throws IOException {
    if (isThere()) {
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
