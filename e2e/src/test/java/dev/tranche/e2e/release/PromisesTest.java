package dev.tranche.e2e.release;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.MAP;

import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.Yaml;

/** What the repository promises about itself, as far as its files can show it. */
class PromisesTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** Level 1 of the baseline, version 2026.02.19. */
  private static final List<String> REQUIREMENTS =
      Stream.of(
              "AC-01.01 AC-02.01 AC-03.01 AC-03.02",
              "BR-01.01 BR-01.03 BR-03.01 BR-03.02 BR-07.01",
              "DO-01.01 DO-02.01",
              "GV-02.01 GV-03.01",
              "LE-02.01 LE-02.02 LE-03.01 LE-03.02",
              "QA-01.01 QA-01.02 QA-02.01 QA-04.01 QA-05.01 QA-05.02",
              "VM-02.01")
          .flatMap(area -> Stream.of(area.split(" ")))
          .toList();

  private static final Pattern ROW =
      Pattern.compile("(?m)^\\| OSPS-(\\S+) [^|]+ \\| (met|a person) \\| [^|]+ \\|$");

  /** Files that people can review although they are binary. */
  private static final Pattern PICTURE = Pattern.compile("docs/.*\\.png");

  private static String read(String file) throws IOException {
    return Files.readString(ROOT.resolve(file));
  }

  @Test
  void baseline_hasEachRequirementOnce() throws IOException {
    assertThat(
            ROW.matcher(read("docs/architecture/openssf-baseline.md"))
                .results()
                .map(row -> row.group(1)))
        .containsExactlyElementsOf(REQUIREMENTS);
  }

  @Test
  void repository_hasNoBinaries() throws IOException {
    List<String> binaries = new ArrayList<>();
    // What is not committed yet counts, too.
    String files = Shell.run(ROOT, "git ls-files --cached --others --exclude-standard").orFail();
    for (String file : files.lines().toList()) {
      Path path = ROOT.resolve(file);
      if (Files.isRegularFile(path) && hasZeroByte(Files.readAllBytes(path))) {
        binaries.add(file);
      }
    }
    assertThat(binaries).allMatch(file -> PICTURE.matcher(file).matches());
  }

  private static boolean hasZeroByte(byte[] content) {
    for (byte each : content) {
      if (each == 0) {
        return true;
      }
    }
    return false;
  }

  @Test
  void securityInsights_nameEncryptedAddresses_andFilesThatExist() throws IOException {
    String insights = read("SECURITY-INSIGHTS.yml");
    Object parsed = new Yaml().load(insights);
    assertThat(parsed).asInstanceOf(MAP).containsOnlyKeys("header", "project", "repository");
    assertThat(insights).doesNotContain("http://");
    List<String> files =
        Pattern.compile("/(?:blob|tree)/main/(\\S+)")
            .matcher(insights)
            .results()
            .map((MatchResult found) -> found.group(1))
            .toList();
    assertThat(files).isNotEmpty().allSatisfy(file -> assertThat(ROOT.resolve(file)).exists());
  }

  @Test
  void templatesOfIssues_askForWhatTheProgramsCollect() throws IOException {
    assertThat(read(".github/ISSUE_TEMPLATE/bug.yml"))
        .contains("kubectl tranche support-bundle", "verify-gpu");
    assertThat(read(".github/pull_request_template.md"))
        .contains("kubectl tranche support-bundle", "verify-gpu");
    assertThat(read(".github/ISSUE_TEMPLATE/gpu-report.yml")).contains("verify-gpu");
  }
}
