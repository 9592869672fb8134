package dev.tranche.e2e.versions;

import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.process.Sha256;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/**
 * The part of {@code ./matrix} that is not a shell script:
 *
 * <ul>
 *   <li>{@code tests VERSION}: prints the tests of the version's scenarios;
 *   <li>{@code record ROOT VERSION COMMIT}: keeps the result of the run that has just ended, and
 *       rewrites the page. The status is 1 if a scenario has not passed;
 *   <li>{@code page ROOT}: rewrites the page.
 * </ul>
 */
public final class Matrix {
  private static final List<String> PROGRAMS = List.of("etcd", "kube", "scheduler");

  private Matrix() {}

  public static void main(String[] args) throws IOException {
    switch (args[0]) {
      case "tests" -> System.out.println(Scenario.tests(KubernetesVersion.minor(args[1])));
      case "page" -> VersionsPage.write(Path.of(args[1]));
      case "record" -> System.exit(record(Path.of(args[1]), args[2], args[3]) ? 0 : 1);
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  private static boolean record(Path root, String version, String commit) throws IOException {
    List<TestCase> tests = TestReports.read(root.resolve("e2e/target/failsafe-reports"));
    var result =
        new VersionResult(
            version,
            digest(Artifacts.of(root).kubernetes()),
            commit,
            LocalDate.now(ZoneOffset.UTC).toString(),
            Scenario.on(KubernetesVersion.minor(version)).stream()
                .map(scenario -> scenario.result(tests))
                .toList());
    result.write(root);
    VersionsPage.write(root);
    List<ScenarioResult> uncounted =
        Scenario.uncounted(KubernetesVersion.minor(version)).stream()
            .map(scenario -> scenario.result(tests))
            .toList();
    Stream.concat(result.scenarios().stream(), uncounted.stream())
        .forEach(scenario -> System.out.println(line(version, scenario)));
    return result.hasPassed() && uncounted.stream().allMatch(ScenarioResult::hasPassed);
  }

  private static String line(String version, ScenarioResult scenario) {
    return scenario.hasPassed()
        ? "%s %s: %d tests passed".formatted(version, scenario.name(), scenario.passed())
        : "%s %s: %s".formatted(version, scenario.name(), String.join(", ", scenario.notPassed()));
  }

  /** Returns the SHA-256 of the programs, one after the other. */
  static String digest(Path folder) throws IOException {
    MessageDigest digest = Sha256.digest();
    for (String program : PROGRAMS) {
      try (var in = new DigestInputStream(Files.newInputStream(folder.resolve(program)), digest)) {
        in.transferTo(OutputStream.nullOutputStream());
      }
    }
    return HexFormat.of().formatHex(digest.digest());
  }
}
