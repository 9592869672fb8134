import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Rewrites the jars of a folder so that their entries are stored, not compressed: a layer is compressed as a whole
 * anyway, and that finds what classes have in common, which an entry's own compression hides. What nothing here calls or
 * reads is left out: of BouncyCastle, which writes certificates, its algorithms, since the JDK's are used; JNA's native
 * libraries, of which the one that fits lies beside; folders; signatures and digests of jars that are no longer as they
 * were signed; and of others' classes the names of local variables, for which a debugger asks and the message of a
 * NullPointerException. Classes of a Java before 6 are given the frames by which a newer one verifies them: a JVM's cache
 * takes no others, and each start would load and verify them anew.
 */
class Store {
  private static final Pattern UNUSED =
      Pattern.compile(
          "(META-INF/versions/\\d+/)?org/bouncycastle/(pqc|math|x509|crypto/[a-z]+|jcajce/provider|jce/provider)/.*"
              + "|com/sun/jna/[^/]+/\\w+\\.(so|dll|dylib|jnilib|a)"
              + "|META-INF/[^/]+\\.(SF|RSA|DSA)");

  /** Where a class file has it, in two bytes. */
  private static final int MAJOR_VERSION_AT = 6;

  public static void main(String[] args) throws IOException {
    List<Path> jars;
    try (var files = Files.list(Path.of(args[0]))) {
      jars = files.filter(file -> file.toString().endsWith(".jar")).sorted().toList();
    }
    var urls = new ArrayList<URL>();
    for (Path jar : jars) {
      urls.add(jar.toUri().toURL());
    }
    try (var all = new URLClassLoader(urls.toArray(URL[]::new))) {
      for (Path jar : jars) {
        Path stored = jar.resolveSibling(jar.getFileName() + ".stored");
        try (var from = new ZipFile(jar.toFile());
            OutputStream to = Files.newOutputStream(stored)) {
          copy(from, to, all);
        }
        Files.move(stored, jar, StandardCopyOption.REPLACE_EXISTING);
      }
    }
  }

  private static boolean used(ZipEntry entry) {
    return !entry.isDirectory() && !UNUSED.matcher(entry.getName()).matches();
  }

  private static void copy(ZipFile from, OutputStream to, ClassLoader all) throws IOException {
    try (var out = new ZipOutputStream(to)) {
      out.setMethod(ZipOutputStream.STORED);
      for (ZipEntry entry : from.stream().filter(Store::used).toList()) {
        byte[] content;
        try (var in = from.getInputStream(entry)) {
          content = in.readAllBytes();
        }
        if (entry.getName().endsWith(".class") && !entry.getName().startsWith("dev/tranche/")) {
          content = rewritten(content, all);
        } else if (entry.getName().equals(JarFile.MANIFEST_NAME)) {
          content = withoutDigests(content);
        }
        var crc = new CRC32();
        crc.update(content);
        var stored = new ZipEntry(entry.getName());
        stored.setTimeLocal(entry.getTimeLocal());
        stored.setSize(content.length);
        stored.setCrc(crc.getValue());
        out.putNextEntry(stored);
        out.write(content);
      }
    }
  }

  /** A JVM keeps what a manifest says of thousands of classes for as long as it runs; of jars here it is digests alone. */
  private static byte[] withoutDigests(byte[] manifest) throws IOException {
    var read = new Manifest(new ByteArrayInputStream(manifest));
    read.getEntries().clear();
    var written = new ByteArrayOutputStream();
    read.write(written);
    return written.toByteArray();
  }

  /**
   * Without the names of variables, and with frames. The lines stay, for the traces of errors.
   *
   * @param all what the class refers to
   */
  private static byte[] rewritten(byte[] compiled, ClassLoader all) {
    var reader = new ClassReader(compiled);
    boolean old = reader.readUnsignedShort(MAJOR_VERSION_AT) < Opcodes.V1_6;
    var written = new ClassWriter(old ? ClassWriter.COMPUTE_FRAMES : 0) {
      @Override
      protected ClassLoader getClassLoader() {
        return all;
      }
    };
    reader.accept(new ClassVisitor(Opcodes.ASM9, written) {
      @Override
      public void visit(int version, int access, String name, String signature, String parent, String[] interfaces) {
        super.visit(old ? Opcodes.V1_6 : version, access, name, signature, parent, interfaces);
      }

      @Override
      public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] errors) {
        return new MethodVisitor(Opcodes.ASM9, super.visitMethod(access, name, type, signature, errors)) {
          @Override
          public void visitLocalVariable(String name, String type, String signature, Label from, Label to, int index) {}
        };
      }
    }, 0);
    return written.toByteArray();
  }
}
