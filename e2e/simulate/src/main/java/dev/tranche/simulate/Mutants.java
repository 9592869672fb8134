package dev.tranche.simulate;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * Puts known bugs back, one at a time: each patch is applied to a copy of the source files that it
 * names, and their classes come before those of the product.
 */
final class Mutants {
  /** Where the patches are, from the root of the repository. */
  static final Path FOLDER = Path.of("e2e", "simulate", "src", "test", "resources", "mutants");

  private static final Pattern TARGET = Pattern.compile("(?m)^\\+\\+\\+ b/(.*)$");
  private static final Pattern TEST = Pattern.compile("(?m)^test: (\\S+) (\\S+)$");
  private static final Pattern FAILED = Pattern.compile("(Failures|Errors): [1-9]");

  private Mutants() {}

  /** Returns the names of all patches, in their order. */
  static List<String> names(Path root) throws IOException {
    try (Stream<Path> files = Files.list(root.resolve(FOLDER))) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.endsWith(".diff"))
          .map(name -> name.substring(0, name.length() - ".diff".length()))
          .sorted()
          .toList();
    }
  }

  /** Returns the bug that a patch puts back: its first line. */
  static String bug(Path root, String name) throws IOException {
    return Files.readAllLines(file(root, name)).getFirst();
  }

  /**
   * A test of the product that finds a bug, too.
   *
   * @param name as for Maven: a class, or a class and a method
   */
  record ProductTest(String module, String name) {}

  /** Returns the test that a patch names: its second line. */
  static Optional<ProductTest> test(Path root, String name) throws IOException {
    return TEST.matcher(Files.readString(file(root, name)))
        .results()
        .map(found -> new ProductTest(found.group(1), found.group(2)))
        .findFirst();
  }

  /** Runs a test on a copy of the whole work tree with one patch, and returns whether it fails. */
  static boolean fails(Path root, String name, ProductTest test)
      throws IOException, InterruptedException {
    Path work = Files.createTempDirectory("mutant-");
    try {
      String files =
          said(root, List.of("git", "ls-files", "-co", "--exclude-standard", "--deduplicate"));
      for (String each : files.lines().toList()) {
        Path from = root.resolve(each);
        if (Files.isRegularFile(from)) {
          Path to = work.resolve(each);
          Files.createDirectories(to.getParent());
          Files.copy(from, to, StandardCopyOption.COPY_ATTRIBUTES);
        }
      }
      apply(root, name, work);
      String said =
          said(
              work,
              List.of(
                  work.resolve("mvnw").toString(),
                  "-B",
                  "-ntp",
                  "-pl",
                  test.module(),
                  "-am",
                  "test",
                  "-Dtest=" + test.name(),
                  "-Dsurefire.failIfNoSpecifiedTests=false",
                  "-Dspotless.check.skip",
                  "-Dcyclonedx.skip"));
      if (!said.contains("Tests run: ")) {
        throw new IOException("no test ran with the patch " + name + ": " + said);
      }
      return FAILED.matcher(said).find();
    } finally {
      delete(work);
    }
  }

  private static String said(Path folder, List<String> command)
      throws IOException, InterruptedException {
    var builder =
        new ProcessBuilder(command)
            .directory(folder.toAbsolutePath().toFile())
            .redirectErrorStream(true);
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    Process run = builder.start();
    String said = new String(run.getInputStream().readAllBytes(), UTF_8);
    run.waitFor();
    return said;
  }

  private static void apply(Path root, String name, Path work)
      throws IOException, InterruptedException {
    Process apply =
        new ProcessBuilder("git", "apply", file(root, name).toString())
            .directory(work.toFile())
            .redirectErrorStream(true)
            .start();
    String said = new String(apply.getInputStream().readAllBytes(), UTF_8);
    if (apply.waitFor() != 0) {
      throw new IOException("the patch " + name + " does not apply: " + said);
    }
  }

  private static Path file(Path root, String name) {
    return root.resolve(FOLDER).resolve(name + ".diff").toAbsolutePath();
  }

  /**
   * Compiles the product's classes with one patch.
   *
   * @param work an empty folder
   * @return the folder of the classes
   */
  static Path compile(Path root, String name, Path work) throws IOException, InterruptedException {
    var sources = new ArrayList<String>();
    for (String target :
        TARGET
            .matcher(Files.readString(file(root, name)))
            .results()
            .map(r -> r.group(1))
            .toList()) {
      Path copy = work.resolve(target);
      Files.createDirectories(copy.getParent());
      Files.copy(root.resolve(target), copy);
      sources.add(copy.toString());
    }
    apply(root, name, work);
    Path classes = Files.createDirectories(work.resolve("classes"));
    var arguments =
        new ArrayList<>(
            List.of(
                "-nowarn", "-d", classes.toString(), "-cp", System.getProperty("java.class.path")));
    arguments.addAll(sources);
    JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
    if (javac.run(null, null, null, arguments.toArray(String[]::new)) != 0) {
      throw new IOException("the classes with the patch " + name + " do not compile");
    }
    return classes;
  }

  /**
   * Runs seeds with one patch in a process of its own, and returns what it prints.
   *
   * @param options of {@link Simulate}
   */
  static String run(Path root, String name, List<String> options)
      throws IOException, InterruptedException {
    Path work = Files.createTempDirectory("mutant-");
    try {
      Path classes = compile(root, name, work);
      var command =
          new ArrayList<>(
              List.of(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-XX:+UseSerialGC",
                  "-cp",
                  classes + ":" + System.getProperty("java.class.path"),
                  Simulate.class.getName()));
      command.addAll(options);
      Process run = new ProcessBuilder(command).redirectErrorStream(true).start();
      String said = new String(run.getInputStream().readAllBytes(), UTF_8);
      run.waitFor();
      return said;
    } finally {
      delete(work);
    }
  }

  static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      files
          .sorted(Comparator.reverseOrder())
          .forEach(
              file -> {
                try {
                  Files.delete(file);
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
    }
  }
}
