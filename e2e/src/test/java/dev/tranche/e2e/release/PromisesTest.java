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
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.Yaml;

/** What the repository promises about itself, as far as its files can show it. */
class PromisesTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** Files that people can review although they are binary. */
  private static final Pattern PICTURE = Pattern.compile("docs/.*\\.png");

  private static String read(String file) throws IOException {
    return Files.readString(ROOT.resolve(file));
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
    assertThat(read(".github/ISSUE_TEMPLATE/gpu-report.yml")).contains("verify-gpu");
  }
}
