package dev.tranche.simulate;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/**
 * A known bug that a patch puts back. The first line of the patch says which, and the second one
 * names the test of the product that finds it.
 *
 * @param bug one sentence
 * @param targets the changed files, from the root of the repository
 */
record Mutant(Path file, String bug, ProductTest test, List<String> targets) {
  /** Where the patches are, from the root of the repository. */
  static final Path FOLDER = Path.of("e2e", "simulate", "src", "test", "resources", "mutants");

  private static final String SUFFIX = ".diff";
  private static final Pattern TARGET = Pattern.compile("(?m)^\\+\\+\\+ b/(.*)$");
  private static final Pattern TEST = Pattern.compile("(?m)^test: (\\S+) (\\S+)$");
  private static final String EXTENDER = "extender/src/main/java/dev/tranche/extender/";

  /** The code that the simulator runs. */
  private static final List<String> SIMULATED =
      List.of(
          "extender/core/",
          "node-plugin/",
          EXTENDER + "election/",
          EXTENDER + "state/",
          EXTENDER + "stream/",
          EXTENDER + "verb/");

  /**
   * A test of the product.
   *
   * @param module with which Maven runs it
   */
  record ProductTest(String module, String name) {
    /** Whether it runs in the phase of the integration tests. */
    boolean isIntegrationTest() {
      return name.endsWith("IT");
    }
  }

  /** Returns the names of all patches, in their order. */
  static List<String> names(Path root) throws IOException {
    try (Stream<Path> files = Files.list(root.resolve(FOLDER))) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.endsWith(SUFFIX))
          .map(name -> name.substring(0, name.length() - SUFFIX.length()))
          .sorted()
          .toList();
    }
  }

  static Mutant of(Path root, String name) throws IOException {
    Path file = root.resolve(FOLDER).resolve(name + SUFFIX).toAbsolutePath();
    String text = Files.readString(file);
    Matcher test = TEST.matcher(text);
    if (!test.find()) {
      throw new IOException("the second line of " + file + " must be: test: MODULE NAME");
    }
    return new Mutant(
        file,
        text.lines().findFirst().orElse(""),
        new ProductTest(test.group(1), test.group(2)),
        TARGET.matcher(text).results().map(found -> found.group(1)).toList());
  }

  /** Whether a simulated cluster can meet the bug at all. */
  boolean isSimulated() {
    return targets.stream()
        .allMatch(target -> SIMULATED.stream().anyMatch(prefix -> target.startsWith(prefix)));
  }

  /** Applies the patch to a folder that has the files that it changes. */
  void apply(Path folder) throws IOException, InterruptedException {
    git(folder, List.of("git", "apply", file.toString()));
  }

  void revert(Path folder) throws IOException, InterruptedException {
    git(folder, List.of("git", "apply", "--reverse", file.toString()));
  }

  private void git(Path folder, List<String> command) throws IOException, InterruptedException {
    Ended git = Ended.of(folder, command);
    if (git.status() != 0) {
      throw new IOException("the patch " + file + " does not apply: " + git.said());
    }
  }

  /**
   * Applies the patch to copies of the files that it changes, and compiles those in Java.
   *
   * @param work an empty folder
   * @return the folder of the classes
   */
  Path compile(Path root, Path work) throws IOException, InterruptedException {
    for (String target : targets) {
      Path copy = work.resolve(target);
      Files.createDirectories(copy.getParent());
      Files.copy(root.resolve(target), copy);
    }
    apply(work);
    Path classes = Files.createDirectories(work.resolve("classes"));
    List<String> sources =
        targets.stream()
            .filter(target -> target.endsWith(".java"))
            .map(target -> work.resolve(target).toString())
            .toList();
    if (sources.isEmpty()) {
      return classes;
    }
    var arguments =
        new ArrayList<>(
            List.of(
                "-nowarn",
                "-proc:none",
                "-d",
                classes.toString(),
                "-cp",
                System.getProperty("java.class.path")));
    arguments.addAll(sources);
    JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
    if (javac.run(null, null, null, arguments.toArray(String[]::new)) != 0) {
      throw new IOException("the classes with the patch " + file + " do not compile");
    }
    return classes;
  }
}
