package dev.tranche.nodeplugin.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** docs/node-plugin-config.md against the code that it describes. */
class ConfigPageTest {
  private static final Pattern SAMPLE = Pattern.compile("(?s)```yaml\n(.*?)```");

  private static String page() throws IOException {
    return Files.readString(Path.of("../docs/node-plugin-config.md"));
  }

  @Test
  void table_isThatOfTheSettings() throws IOException {
    List<String> rows = page().lines().filter(line -> line.startsWith("| `--")).toList();
    assertThat(rows)
        .containsExactlyElementsOf(
            Arrays.stream(Setting.values()).map(ConfigPageTest::row).toList());
  }

  private static String row(Setting s) {
    String names =
        Stream.concat(Stream.of("--" + s.flag(), s.variable()), s.aliases().stream())
            .map(ConfigPageTest::code)
            .collect(Collectors.joining(" "));
    return "| %s | %s | %s | %s%s |"
        .formatted(
            names,
            code(s.fileKey()),
            code(s.fallback()),
            s == Setting.CDI_FEATURE_FLAGS ? "**no effect, warned about**: " : "",
            s.meaning());
  }

  private static String code(String text) {
    return text.isEmpty() ? "–" : "`" + text + "`";
  }

  @Test
  void everyFileKey_isNamed() throws IOException {
    String page = page();
    assertThat(FileKeys.all()).isNotEmpty().allSatisfy(key -> assertThat(page).contains("`" + key));
  }

  @Test
  void samples_areValid() throws IOException {
    List<String> samples = SAMPLE.matcher(page()).results().map(r -> r.group(1)).toList();
    assertThat(samples).isNotEmpty();
    for (String sample : samples) {
      ConfigErrors findings = new ConfigErrors();
      ConfigFile file = ConfigFile.parse(sample, findings);
      List<String> extended = List.of("--nvidia-compatible=extended");
      Config.of(Settings.read(Setting.class, extended, Map.of(), findings), file, findings);
      assertThat(findings.errors()).as(sample).isEmpty();
      assertThat(findings.warnings()).as(sample).isEmpty();
      assertThat(file).as(sample).isNotEqualTo(ConfigFile.EMPTY);
    }
  }

  @Test
  void withoutEffect_isWarnedAbout() {
    ConfigErrors findings = new ConfigErrors();
    Settings<Setting> settings =
        Settings.read(Setting.class, List.of("--cdi-feature-flags=a"), Map.of(), findings);
    Config.of(settings, ConfigFile.EMPTY, findings);
    assertThat(findings.warnings())
        .containsExactly("--cdi-feature-flags (CDI_FEATURE_FLAGS) has no effect here");
  }
}
