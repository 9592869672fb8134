package dev.tranche.process.settings;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SettingsTest {
  private enum Color {
    RED,
    LIGHT_BLUE
  }

  private enum Example implements ProcessSetting {
    NAME("tranche"),
    LISTEN("0.0.0.0:9090"),
    WAIT("5s"),
    COUNT("10"),
    SHARE("5%"),
    COLOR("red"),
    RESOURCE("nvidia.com/gpu"),
    SCHEDULER("ours"),
    FAST("false");

    private final String fallback;

    Example(String fallback) {
      this.fallback = fallback;
    }

    @Override
    public String variable() {
      return "EXAMPLE_" + name();
    }

    @Override
    public String fallback() {
      return fallback;
    }

    @Override
    public String meaning() {
      return "what it does";
    }

    @Override
    public List<String> variableAliases() {
      return this == NAME ? List.of("HOSTNAME") : List.of();
    }

    @Override
    public boolean isEmptyAllowed() {
      return this == SCHEDULER;
    }
  }

  private final ConfigErrors errors = new ConfigErrors();

  private Settings<Example> read(String... args) {
    return Settings.read(Example.class, List.of(args), Map.of(), errors);
  }

  private Settings<Example> readVariables(Map<String, String> variables) {
    return Settings.read(Example.class, List.of(), variables, errors);
  }

  @Test
  void variable_countsBeforeItsAlias_andAnEmptyOneIsNotSet() {
    Map<String, String> both = Map.of("EXAMPLE_NAME", "a", "HOSTNAME", "b");
    assertThat(readVariables(both).text(Example.NAME)).isEqualTo("a");
    assertThat(readVariables(Map.of("HOSTNAME", "b")).text(Example.NAME)).isEqualTo("b");
    assertThat(readVariables(Map.of("EXAMPLE_NAME", "")).text(Example.NAME)).isEqualTo("tranche");
  }

  @Test
  void emptyVariable_isAValueWhereTheSettingSaysSo() {
    assertThat(readVariables(Map.of("EXAMPLE_SCHEDULER", "")).text(Example.SCHEDULER)).isEmpty();
    assertThat(read("--scheduler=").text(Example.SCHEDULER)).isEmpty();
  }

  @Test
  void switch_needsNoValue_butTakesOne() {
    assertThat(read().isTrue(Example.FAST)).isFalse();
    assertThat(read("--fast", "--name", "n").isTrue(Example.FAST)).isTrue();
    assertThat(read("--fast", "false").isTrue(Example.FAST)).isFalse();
    assertThat(errors.errors()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--nonsense | unknown flag --nonsense; --help lists them",
        "word | \"word\" is not a flag; flags look like --name=value",
        "--name | --name lacks its value: what it does",
      })
  void wrongArgument_isReported(String argument, String error) {
    read(argument);
    assertThat(errors.errors()).containsExactly(error);
  }

  @Test
  void wrongValues_areReportedInOneForm_eachWithWhatIsAllowed() {
    Settings<Example> wrong =
        read(
            "--name=A",
            "--listen=9090",
            "--wait=1w",
            "--count=11",
            "--share=5",
            "--color=green",
            "--resource=gpu",
            "--fast=maybe");
    wrong.dnsLabel(Example.NAME, 40);
    wrong.hostPort(Example.LISTEN);
    wrong.duration(Example.WAIT, "1s", "24h");
    wrong.number(Example.COUNT, "", 1, 10);
    wrong.number(Example.SHARE, "%", 0, 100);
    wrong.oneOf(Example.COLOR, List.of(Color.values()));
    wrong.resources(Example.RESOURCE);
    wrong.isTrue(Example.FAST);
    assertThat(errors.errors())
        .hasSize(8)
        .allMatch(e -> e.matches("--\\w+ \\(EXAMPLE_\\w+\\) is \"[^\"]*\"; allowed: .+"))
        .contains(
            "--color (EXAMPLE_COLOR) is \"green\"; allowed: red, light-blue",
            "--count (EXAMPLE_COUNT) is \"11\"; allowed: a whole number from 1 to 10",
            "--wait (EXAMPLE_WAIT) is \"1w\"; allowed: 1s to 24h");
  }

  @ParameterizedTest
  @CsvSource({"100ms, PT0.1S", "60s, PT1M", "5m, PT5M", "24h, PT24H", "90d, P90D"})
  void duration_hasAUnit(String text, Duration duration) {
    assertThat(read("--wait=" + text).duration(Example.WAIT, "0s", "999d")).isEqualTo(duration);
    assertThat(errors.errors()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-a", "a-", "A", "a.b", "a_b"})
  void dnsLabel_isThatOfKubernetes(String wrong) {
    read("--name=" + wrong).dnsLabel(Example.NAME, 63);
    assertThat(errors.errors()).hasSize(1);
  }

  @Test
  void dnsLabels_areRefusedInTheWordsOfOne() {
    Settings<Example> wrong = read("--name=A");
    wrong.dnsLabel(Example.NAME, Settings.DNS_LABEL_CHARS_MAX);
    wrong.dnsLabels(Example.NAME);
    assertThat(errors.errors()).hasSize(2);
    assertThat(Set.copyOf(errors.errors())).hasSize(1);
  }

  @Test
  void dnsLabel_isBounded() {
    assertThat(read("--name=" + "a".repeat(63)).dnsLabel(Example.NAME, 63)).hasSize(63);
    assertThat(errors.errors()).isEmpty();
    read("--name=" + "a".repeat(64)).dnsLabel(Example.NAME, 63);
    assertThat(errors.errors()).hasSize(1);
  }

  @Test
  void resources_areAListWithoutEmptyEntries() {
    assertThat(read("--resource=nvidia.com/gpu, a.b/c,,").resources(Example.RESOURCE))
        .containsExactly("nvidia.com/gpu", "a.b/c");
    assertThat(errors.errors()).isEmpty();
    read("--resource=,").resources(Example.RESOURCE);
    assertThat(errors.errors()).hasSize(1);
  }

  @Test
  void help_andTheEffectiveValues_haveEverySetting() {
    String help = Settings.help(Example.class, "Is an example.");
    assertThat(help)
        .startsWith("Is an example.\n")
        .contains("  --name (EXAMPLE_NAME, HOSTNAME) what it does [tranche]\n");
    assertThat(help.lines()).hasSize(Example.values().length + 2);
    assertThat(read("--count=3").toString()).startsWith("--name=tranche ").contains("--count=3");
  }
}
