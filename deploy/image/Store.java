import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Rewrites the jars of a folder so that their entries are stored, not compressed: a layer is compressed as a whole
 * anyway, and that finds what classes have in common, which an entry's own compression hides.
 */
class Store {
  public static void main(String[] args) throws IOException {
    List<Path> jars;
    try (var files = Files.list(Path.of(args[0]))) {
      jars = files.filter(file -> file.toString().endsWith(".jar")).sorted().toList();
    }
    for (Path jar : jars) {
      Path stored = jar.resolveSibling(jar.getFileName() + ".stored");
      try (var from = new ZipFile(jar.toFile());
          OutputStream to = Files.newOutputStream(stored)) {
        copy(from, to);
      }
      Files.move(stored, jar, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private static void copy(ZipFile from, OutputStream to) throws IOException {
    try (var out = new ZipOutputStream(to)) {
      out.setMethod(ZipOutputStream.STORED);
      for (ZipEntry entry : from.stream().toList()) {
        var stored = new ZipEntry(entry.getName());
        stored.setTimeLocal(entry.getTimeLocal());
        stored.setSize(entry.getSize());
        stored.setCrc(entry.getCrc());
        out.putNextEntry(stored);
        try (var in = from.getInputStream(entry)) {
          in.transferTo(out);
        }
      }
    }
  }
}
