import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Rewrites the jars of a folder so that their entries are stored, not compressed: a layer is compressed as a whole
 * anyway, and that finds what classes have in common, which an entry's own compression hides. What nothing here can
 * call is left out: of BouncyCastle, which writes certificates, its algorithms, since the JDK's are used; JNA's native
 * libraries, of which the one that fits lies beside; signatures of jars that are no longer as they were signed.
 */
class Store {
  private static final Pattern UNUSED =
      Pattern.compile(
          "(META-INF/versions/\\d+/)?org/bouncycastle/(pqc|math|x509|crypto/[a-z]+|jcajce/provider|jce/provider)/.*"
              + "|com/sun/jna/[^/]+/\\w+\\.(so|dll|dylib|jnilib|a)"
              + "|META-INF/[^/]+\\.(SF|RSA|DSA)");

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

  private static boolean used(ZipEntry entry) {
    return !UNUSED.matcher(entry.getName()).matches();
  }

  private static void copy(ZipFile from, OutputStream to) throws IOException {
    try (var out = new ZipOutputStream(to)) {
      out.setMethod(ZipOutputStream.STORED);
      for (ZipEntry entry : from.stream().filter(Store::used).toList()) {
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
