package dev.tranche.nodeplugin.file;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
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
    try (FileChannel out =
        FileChannel.open(
            fresh,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      ByteBuffer rest = ByteBuffer.wrap(content);
      while (rest.hasRemaining()) {
        out.write(rest);
      }
      // Without it a crash of the node may leave an empty file under the new name.
      out.force(true);
    }
    Files.setPosixFilePermissions(fresh, READABLE);
    Files.move(fresh, path, StandardCopyOption.ATOMIC_MOVE);
    try (FileChannel names = FileChannel.open(folder, StandardOpenOption.READ)) {
      names.force(true);
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
