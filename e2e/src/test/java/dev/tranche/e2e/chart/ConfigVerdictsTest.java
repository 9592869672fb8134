package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.render;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.ConfigFile;
import dev.tranche.nodeplugin.config.Setting;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the chart says of a config, held against what the node plugin says of it. */
class ConfigVerdictsTest {
  private static final int RANDOM_CONFIGS = 150;

  /** Configs that people brought from NVIDIA's plugin, and what is named where one is refused. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{flags: {migStrategy: none, renameByDefault: true}, sharing: {timeSlicing: {resources: [{name: gpu, replicas: 6}]}}} | renameByDefault",
        "{sharing: {timeSlicing: {resources: [{name: gpu, replicas: 16384}]}}} | 16384",
        "{sharing: {timeslicing: {resources: [{name: gpu, replicas: 8}]}}} | timeslicing",
        "{flags: {MigStrategy: single}} | MigStrategy",
        "{flags: {plugin: {deviceIdStrategy: index}}} | deviceIdStrategy",
        "{flags: {plugin: {deviceListStrategy: [envvar, cdi]}}} | cdi",
        "{flags: {plugin: {deviceListStrategy: []}}} | deviceListStrategy",
        "{flags: {migStrategy: some}} | some",
        "{flags: {mofedEnabled: maybe}} | maybe",
        "{individualGPU: {enabled: true}} | individualGPU",
        "{imex: {channelIDs: [1]}} | channelIDs",
        "{sharing: {mps: {resources: [{name: nvidia.com/mps, replicas: 5}]}}} | nvidia.com/mps",
        "{sharing: {timeSlicing: {resources: [{name: nvidia.com/t4, replicas: 4}]}}} | nvidia.com/t4",
        "{sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4, devices: {names: [a]}}]}}} | devices",
        "{sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4, rename: A_B}]}}} | A_B",
        "{sharing: {timeSlicing: {resources: [{name: gpu, id: 0, replicas: 10}]}}} | id",
        "{sharing: {timeSlicing: {replicas: 4}}} | replicas",
        "{sharing: {timeSlicing: {renameByDefault: please, resources: [{name: gpu, replicas: 4}]}}} | please",
        "{flags: {migStrategy: mixed}, sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}} | mixed",
        "{sharing: {timeSlicing: {resources: [{name: gpu, rename: nvidia.com/gpu-0, devices: ['0'], replicas: 8}]}}} | ''",
        "{sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}, mps: {resources: [{name: gpu, replicas: 3}]}}} | ''",
        "{sharing: {timeSlicing: {resources: [{name: gpu, devices: [], replicas: 8}]}}} | ''",
        "{sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, replicas: 4}]}}} | ''",
        "{sharing: {timeSlicing: {resources: [{name: gpu, replicas: 1}]}}}\\n--- | ''",
        "{flags: {migStrategy: mixed}, sharing: {timeSlicing: {resources: [{name: gpu, replicas: 8}, {name: nvidia.com/mig-7g.40gb, replicas: 7}]}}} | ''",
        "{flags: {migStrategy: single, mofedEnabled: false, failOnInitError: true, nvidiaDriverRoot: /, plugin: {passDeviceSpecs: true, deviceListStrategy: [volume-mounts, cdi-cri], deviceIDStrategy: index, containerDriverRoot: /driver-root}}} | ''",
      })
  void chart_andPlugin_sayTheSame(String config, String named) {
    String text = config.replace("\\n", "\n");
    if (named.isEmpty()) {
      assertThat(errors(text)).isEmpty();
      assertThat(render(Map.of("config.map.mine", text))).contains("kind: DaemonSet");
    } else {
      assertThat(errors(text)).anyMatch(error -> error.contains(named));
      assertThatThrownBy(() -> render(Map.of("config.map.mine", text)))
          .hasMessageContaining("config.map.mine")
          .hasMessageContaining(named);
    }
  }

  @Test
  void chart_takesNoConfigThatThePluginRefuses() {
    Random random = new Random(20_261_125);
    for (int i = 0; i < RANDOM_CONFIGS; i++) {
      String text = config(random);
      if (!errors(text).isEmpty()) {
        assertThatThrownBy(() -> render(Map.of("config.map.mine", text)))
            .as("%s: %s", text, errors(text))
            .hasMessageContaining("config.map.mine");
      } else {
        assertThat(render(Map.of("config.map.mine", text))).as(text).contains("DaemonSet");
      }
    }
  }

  private static List<String> errors(String text) {
    var findings = new ConfigErrors();
    ConfigFile file = ConfigFile.parse(text, findings);
    Settings<Setting> settings = Setting.read(List.of("--mps-root=/mps"), Map.of(), findings);
    Config.of(settings, file, findings);
    return findings.errors();
  }

  private static String config(Random random) {
    List<String> parts = new ArrayList<>();
    maybe(random, parts, "version", "v1", "v1", "v1", "v2", "1");
    maybe(random, parts, "flags", flags(random), flags(random));
    maybe(random, parts, "imex", "{channelIDs: [0], required: true}", "{channels: [0]}");
    maybe(random, parts, "sharing", sharing(random), sharing(random));
    maybe(
        random,
        parts,
        "resources",
        "{}",
        "{gpu: []}",
        "{gpus: [{name: t4}]}",
        "{gpus: [{pattern: '*'}]}",
        "{mig: [{pattern: '*', name: Slice}]}",
        "{gpus: [{pattern: '*', name: t4}]}");
    return "{" + String.join(", ", parts) + "}";
  }

  private static String flags(Random random) {
    List<String> parts = new ArrayList<>();
    maybe(random, parts, "migStrategy", "none", "single", "mixed", "Mixed");
    maybe(random, parts, "failOnInitError", "true", "false", "'1'", "sometimes");
    maybe(random, parts, "deviceDiscoveryStrategy", "auto", "nvml", "tegra");
    maybe(random, parts, "gfd", "{oneshot: false}", "{onshot: false}");
    maybe(
        random,
        parts,
        "plugin",
        "{passDeviceSpecs: true}",
        "{deviceListStrategy: [envvar, cdi-cri]}",
        "{deviceListStrategy: 'envvar,cdi-cri'}",
        "{deviceListStrategy: cdi}",
        "{sharedDevicesAllocationPolicy: packed, deviceIDStrategy: index}",
        "{passDeviceSpec: true}");
    return "{" + String.join(", ", parts) + "}";
  }

  private static String sharing(Random random) {
    List<String> parts = new ArrayList<>();
    maybe(random, parts, "timeSlicing", strategy(random), strategy(random));
    maybe(random, parts, "mps", strategy(random));
    return "{" + String.join(", ", parts) + "}";
  }

  private static String strategy(Random random) {
    List<String> parts = new ArrayList<>();
    maybe(random, parts, "renameByDefault", "true", "false", "'true'");
    parts.add("resources: [{" + entry(random) + "}]");
    return "{" + String.join(", ", parts) + "}";
  }

  private static String entry(Random random) {
    List<String> parts = new ArrayList<>();
    parts.add("name: " + choice(random, "gpu", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "t4"));
    parts.add("replicas: " + choice(random, "2", "10", "10000", "10001", "0", "'2'", "2.5"));
    maybe(random, parts, "rename", "gpu.half", "nvidia.com/gpu-0", "Half");
    maybe(random, parts, "devices", "all", "[0, 1]", "['0:1']", "3", "0", "some", "[x]", "[]");
    return String.join(", ", parts);
  }

  private static void maybe(Random random, List<String> parts, String key, String... values) {
    if (random.nextInt(3) == 0) {
      parts.add(key + ": " + choice(random, values));
    }
  }

  private static String choice(Random random, String... values) {
    return values[random.nextInt(values.length)];
  }
}
