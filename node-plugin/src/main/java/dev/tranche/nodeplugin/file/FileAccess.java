package dev.tranche.nodeplugin.file;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads small files, and tells a file that is absent from one that this process may not access.
 * {@link Files#exists} takes both for absent.
 */
public final class FileAccess {
  private static final Logger LOG = LoggerFactory.getLogger(FileAccess.class);
  private static final int TEXT_BYTES_MAX = 1 << 20;

  private static final Set<Path> logged = ConcurrentHashMap.newKeySet();

  private FileAccess() {}

  /** Returns whether there is such a file. Logs each path once to which access is denied. */
  public static boolean exists(Path path) {
    boolean exists = Files.exists(path);
    if (!exists) {
      logDenied(path);
    }
    return exists;
  }

  /** Returns the beginning of a file; empty if it cannot be read. Blocks. */
  public static String beginning(Path path, int bytesMax) {
    try (InputStream file = Files.newInputStream(path)) {
      return new String(file.readNBytes(bytesMax), StandardCharsets.UTF_8);
    } catch (IOException unreadable) {
      return "";
    }
  }

  /** Returns a small file without the spaces around it; empty if it cannot be read. Blocks. */
  public static String text(Path path) {
    return beginning(path, TEXT_BYTES_MAX).strip();
  }

  /** Logs it, once for each path, if access to the path is denied. */
  public static void logDenied(Path path) {
    denied(path).filter(sentence -> logged.add(path)).ifPresent(LOG::error);
  }

  /** Returns a sentence that says so, and what to do, if access to the path is denied. */
  public static Optional<String> denied(Path path) {
    try {
      Files.readAttributes(path, BasicFileAttributes.class);
    } catch (AccessDeniedException denied) {
      return Optional.of(
          ("%s cannot be accessed: permission denied. Run the plugin as root"
                  + " (securityContext.runAsUser: 0). If it is root, the node's SELinux or AppArmor"
                  + " policy denies the access, see SECURITY.md#selinux")
              .formatted(path));
    } catch (IOException absent) {
      // So nothing denies it.
    }
    return Optional.empty();
  }
}
