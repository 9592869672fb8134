package dev.tranche.nodeplugin.file;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Set;

/**
 * A small file that is replaced as a whole. A reader finds either the old content or the new one,
 * even after a crash of the node. Blocks.
 */
public record AtomicFile(Path path) {

  // Container runtimes and the MPS control daemon read some of them.
  private static final Set<PosixFilePermission> READABLE =
      PosixFilePermissions.fromString("rw-r--r--");

  /** Replaces the content. Creates the folder if there is none. */
  public void write(byte[] content) throws IOException {
    Path folder = path.toAbsolutePath().resolveSibling("");
    Files.createDirectories(folder);
    Path fresh = path.resolveSibling(path.getFileName() + ".new");
    Files.write(fresh, content);
    // Without it a crash of the node may leave an empty file under the new name.
    force(fresh);
    Files.setPosixFilePermissions(fresh, READABLE);
    Files.move(fresh, path, StandardCopyOption.ATOMIC_MOVE);
    force(folder);
  }

  private static void force(Path fileOrFolder) throws IOException {
    try (FileChannel written = FileChannel.open(fileOrFolder, StandardOpenOption.READ)) {
      written.force(true);
    }
  }

  public void write(String text) throws IOException {
    write(text.getBytes(UTF_8));
  }

  /** Empty if there is no file. */
  public Optional<byte[]> read() throws IOException {
    try {
      return Optional.of(Files.readAllBytes(path));
    } catch (NoSuchFileException absent) {
      return Optional.empty();
    }
  }

  /** Empty if there is no file. */
  public Optional<String> readText() throws IOException {
    return read().map(content -> new String(content, UTF_8));
  }
}
