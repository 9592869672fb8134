package dev.tranche.simulate;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Searches for known bugs that are put back, one at a time. Simulated clusters run with the classes
 * of a patch before those of the product; tests of the product run in a copy of the work tree.
 */
final class Mutants implements AutoCloseable {
  private static final Pattern BREAKS = Pattern.compile("(?m)^seed (\\d+) breaks ");
  private static final Pattern FAILED = Pattern.compile("(Failures|Errors): [1-9]");

  private final Path root;
  private final Path tree;

  Mutants(Path root) throws IOException, InterruptedException {
    this.root = root;
    this.tree = Files.createTempDirectory("mutants-");
    String files =
        Ended.of(root, List.of("git", "ls-files", "-co", "--exclude-standard", "--deduplicate"))
            .said();
    for (String each : files.lines().toList()) {
      Path from = root.resolve(each);
      if (Files.isRegularFile(from)) {
        Path to = tree.resolve(each);
        Files.createDirectories(to.getParent());
        Files.copy(from, to, StandardCopyOption.COPY_ATTRIBUTES);
      }
    }
  }

  /** Returns whether the test that the patch names fails with it. */
  boolean isFoundByTest(Mutant mutant) throws IOException, InterruptedException {
    Mutant.ProductTest test = mutant.test();
    var command =
        new ArrayList<>(
            List.of(
                tree.resolve("mvnw").toString(),
                "-B",
                "-ntp",
                "-pl",
                test.module(),
                "-am",
                "-Dspotless.check.skip",
                "-Dcyclonedx.skip",
                "-Dtest.tags.excluded=",
                "-Dtranche.search=10",
                // What a patch leaves unused is no reason to fail.
                "-Dcompiler.warnings=-nowarn",
                "-Dcompiler.checks=-Xlint:none"));
    command.addAll(
        test.isIntegrationTest()
            ? List.of(
                "verify",
                "-DskipUnitTests",
                "-Dfailsafe.failIfNoSpecifiedTests=false",
                "-Dit.test=" + test.name())
            : List.of("test", "-Dsurefire.failIfNoSpecifiedTests=false", "-Dtest=" + test.name()));
    mutant.apply(tree);
    String said;
    try {
      said = Ended.of(tree, command).said();
    } finally {
      mutant.revert(tree);
    }
    if (!said.contains("Tests run: ")) {
      throw new IOException("no test ran with the patch " + mutant.file() + ": " + said);
    }
    return FAILED.matcher(said).find();
  }

  /** Returns the first seed that breaks an invariant because of the patch. */
  OptionalLong seedThatFinds(Mutant mutant, long first, int seeds)
      throws IOException, InterruptedException {
    long last = first + seeds;
    for (long from = first; from < last; ) {
      String left = Long.toString(last - from);
      String said =
          run(mutant, List.of("--seed", Long.toString(from), "--runs", left, "--no-shrink"));
      Matcher breaks = BREAKS.matcher(said);
      if (!breaks.find()) {
        return OptionalLong.empty();
      }
      long broken = Long.parseLong(breaks.group(1));
      // A seed that breaks without the bug, too, proves nothing.
      if (new World(Scenario.of(broken)).run().violation().isEmpty()) {
        return OptionalLong.of(broken);
      }
      from = broken + 1;
    }
    return OptionalLong.empty();
  }

  /**
   * Runs seeds with the patch in a process of its own, and returns what it prints.
   *
   * @param options of {@link Simulate}
   */
  private String run(Mutant mutant, List<String> options) throws IOException, InterruptedException {
    Path work = Files.createTempDirectory("mutant-");
    try {
      Path classes = mutant.compile(root, work);
      var command =
          new ArrayList<>(
              List.of(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-XX:+UseSerialGC",
                  "-cp",
                  classes + ":" + System.getProperty("java.class.path"),
                  Simulate.class.getName()));
      command.addAll(options);
      return Ended.of(root, command).said();
    } finally {
      delete(work);
    }
  }

  @Override
  public void close() throws IOException {
    delete(tree);
  }

  private static void delete(Path folder) throws IOException {
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
