package dev.tranche.nodeplugin.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigTest {
  private static final String SLICED =
      """
      version: v1
      sharing:
        timeSlicing:
          resources:
            - name: nvidia.com/gpu
              replicas: 10
      """;

  private final Findings findings = new Findings();

  private Config config(String yaml, List<String> args, Map<String, String> env) {
    ConfigFile file = ConfigFile.parse(yaml, findings);
    Settings settings = Settings.read(args, env, findings).over(file);
    return Config.of(settings, file.sharing(), findings);
  }

  private List<String> errors(String yaml) {
    config(yaml, List.of(), Map.of());
    return findings.errors();
  }

  @ParameterizedTest
  @EnumSource(Setting.class)
  void everySetting_hasItsDefault_andIsReadFromEnvironmentThenFlag(Setting setting) {
    assertThat(Settings.read(List.of(), Map.of(), findings).text(setting))
        .isEqualTo(setting.fallback());
    Map<String, String> env = Map.of(setting.variable(), "from-env");
    assertThat(Settings.read(List.of(), env, findings).text(setting)).isEqualTo("from-env");
    List<String> args = List.of("--" + setting.flag() + "=from-flag");
    assertThat(Settings.read(args, env, findings).text(setting)).isEqualTo("from-flag");
    assertThat(findings.errors()).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(Setting.class)
  void everyFileKey_isReadFromTheFile_andYieldsToTheEnvironment(Setting setting) {
    if (setting.fileKey().isEmpty()) {
      return;
    }
    String[] path = setting.fileKey().split("\\.", -1);
    StringBuilder yaml = new StringBuilder("version: v1\n");
    for (int i = 0; i < path.length; i++) {
      yaml.append("  ".repeat(i))
          .append(path[i])
          .append(i + 1 < path.length ? ":\n" : ": from-file\n");
    }
    ConfigFile file = ConfigFile.parse(yaml.toString(), findings);
    assertThat(findings.errors()).isEmpty();
    assertThat(Settings.read(List.of(), Map.of(), findings).over(file).text(setting))
        .isEqualTo("from-file");
    Map<String, String> env = Map.of(setting.variable(), "from-env");
    assertThat(Settings.read(List.of(), env, findings).over(file).text(setting))
        .isEqualTo("from-env");
  }

  @Test
  void settings_areNamedOnce() {
    assertThat(Arrays.stream(Setting.values()).map(Setting::flag)).doesNotHaveDuplicates();
    assertThat(Arrays.stream(Setting.values()).map(Setting::variable)).doesNotHaveDuplicates();
  }

  @Test
  void timeSlicing_setsReplicas() {
    Config config = config(SLICED, List.of(), Map.of());
    assertThat(findings.errors()).isEmpty();
    assertThat(config.sharing()).isEqualTo(new Sharing(10, false, false));
    assertThat(config.resource()).isEqualTo("nvidia.com/gpu");
  }

  @Test
  void renameByDefault_renames() {
    String yaml = SLICED.replace("    resources:", "    renameByDefault: true\n    resources:");
    assertThat(config(yaml, List.of(), Map.of()).resource()).isEqualTo("nvidia.com/gpu.shared");
  }

  @Test
  void operatorsEnvironment_isAccepted() {
    Config config =
        config(
            "version: v1\nflags:\n  migStrategy: none\n",
            List.of(),
            Map.of(
                "PASS_DEVICE_SPECS", "true",
                "FAIL_ON_INIT_ERROR", "true",
                "DEVICE_LIST_STRATEGY", "envvar",
                "DEVICE_ID_STRATEGY", "uuid",
                "NVIDIA_VISIBLE_DEVICES", "all",
                "NVIDIA_DRIVER_CAPABILITIES", "all"));
    assertThat(findings.errors()).isEmpty();
    assertThat(config.passDeviceSpecs()).isTrue();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "flags: {migStrategy: single} | MIG_STRATEGY",
        "flags: {plugin: {deviceListStrategy: [envvar, cdi-cri]}} | DEVICE_LIST_STRATEGY",
        "flags: {gdsEnabled: true} | GDS_ENABLED",
        "sharing: {mps: {resources: []}} | sharing.mps",
        "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 0}]}} | at least 1",
        "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: two}]}} | at least 1",
        "sharing: {timeSlicing: {resources: [{name: a/b, replicas: 2}]}} | only nvidia.com/gpu",
        "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2, rename: x}]}} | rename",
        "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2, devices: [0]}]}} | devices",
        "sharing: {timeslicing: {}} | unknown key sharing.timeslicing",
        "replicas: 4 | unknown key replicas; it belongs at sharing.timeSlicing.resources[].replicas",
        "flags: {passDeviceSpecs: true} | it belongs at flags.plugin.passDeviceSpecs",
        "version: v2 | version must be v1",
      })
  void whatIsNotHonoured_isRefusedByName(String line, String named) {
    String yaml = line.startsWith("version") ? line : "version: v1\n" + line;
    assertThat(errors(yaml)).anyMatch(e -> e.contains(named));
  }

  @Test
  void whatHasNoEffect_isWarnedAboutByName() {
    String yaml =
        """
        version: v1
        flags:
          mpsRoot: /run/nvidia/mps
          gfd: {oneshot: false}
        resources: {gpus: [{pattern: "*", name: nvidia.com/gpu}]}
        """;
    assertThat(errors(yaml)).isEmpty();
    assertThat(findings.warnings())
        .anyMatch(w -> w.contains("MPS_ROOT"))
        .anyMatch(w -> w.contains("flags.gfd"))
        .anyMatch(w -> w.contains("resources"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"version: [", "", "- a", "version: v1\nversion: v1"})
  void whatIsNoConfig_isOneError(String text) {
    assertThat(errors(text)).hasSize(1);
  }

  @Test
  void tooManyReplicas_areRefusedWithTheLimit() {
    Config config = config(SLICED.replace("10", "2000"), List.of(), Map.of());
    assertThat(config.unfit(5)).isEmpty();
    assertThat(config.unfit(6)).contains("12000").contains("lower replicas to 1666");
  }

  @Test
  void choice_isLabelThenDefaultThenTheOnlyOne() {
    Set<String> two = Set.of("a", "b");
    assertThat(ConfigChoice.choose("b", "a", two)).isEqualTo(new ConfigChoice.Chosen("b"));
    assertThat(ConfigChoice.choose("", "a", two)).isEqualTo(new ConfigChoice.Chosen("a"));
    assertThat(ConfigChoice.choose("", "", Set.of("any")))
        .isEqualTo(new ConfigChoice.Chosen("any"));
    assertThat(ConfigChoice.choose("", "", two)).isInstanceOf(ConfigChoice.Undecided.class);
    assertThat(ConfigChoice.choose("c", "a", two)).isInstanceOf(ConfigChoice.Undecided.class);
  }

  @Test
  void options_areCheckedTogether() {
    Settings settings =
        Settings.read(
            List.of("--extender-address", "nowhere", "--sample-interval=1h", "--what=1", "x"),
            Map.of(),
            findings);
    Options.of(settings, findings);
    assertThat(findings.errors()).hasSize(5);
  }
}
