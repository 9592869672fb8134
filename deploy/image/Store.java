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
 * Rewrites the jars of a folder so that their entries are stored, not compressed. An image layer is compressed as a
 * whole anyway, which finds what classes have in common; compression of single entries would hide that. It leaves out
 * what nothing here uses: BouncyCastle's algorithms, since it only writes certificates and the JDK's algorithms are
 * used; JNA's native libraries, since the right one is installed separately; folders; and signatures and digests, which
 * are invalid for changed jars. In third-party classes it also leaves out the names of local variables, which only a
 * debugger and the message of a NullPointerException use. Classes for Java before 6 get stack map frames: a JVM's AOT
 * cache takes no classes without them, so each start would load and verify these classes again.
 */
class Store {
  private static final Pattern UNUSED =
      Pattern.compile(
          "(META-INF/versions/\\d+/)?org/bouncycastle/(pqc|math|x509|crypto/[a-z]+|jcajce/provider|jce/provider)/.*"
              + "|com/sun/jna/[^/]+/\\w+\\.(so|dll|dylib|jnilib|a)"
              + "|META-INF/[^/]+\\.(SF|RSA|DSA)");

  /** The offset in a class file, two bytes long. */
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

  /** A running JVM keeps a manifest's entries for thousands of classes; in these jars they are only digests. */
  private static byte[] withoutDigests(byte[] manifest) throws IOException {
    var read = new Manifest(new ByteArrayInputStream(manifest));
    read.getEntries().clear();
    var written = new ByteArrayOutputStream();
    read.write(written);
    return written.toByteArray();
  }

  /**
   * Removes the names of variables, and adds frames. Line numbers stay, for stack traces.
   *
   * @param all loads the classes that this class refers to
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
