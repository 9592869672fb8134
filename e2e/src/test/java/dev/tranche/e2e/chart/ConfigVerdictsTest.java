package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.render;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.ConfigFile;
import dev.tranche.nodeplugin.config.Setting;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What the chart says of a config, held against what the node plugin says of it. {@link
 * NvidiaConfigsIT} does the same with generated ones.
 */
class ConfigVerdictsTest {
  private static final Pattern KEY =
      Pattern.compile("`((?:version|flags|sharing|resources|imex)[A-Za-z.\\[\\]]*)`");

  /** Configs that people brought from NVIDIA's plugin, and what is named where one is refused. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{flags: [], sharing: {}} | flags must be a map",
        "{flags: {migStrategy: [none]}} | migStrategy",
        "{flags: {migStrategy: 'none,single'}} | migStrategy",
        "{flags: {mpsRoot: {a: b}}} | mpsRoot",
        "{sharing: {timeSlicing: {renameByDefault: 0, resources: [{name: gpu, replicas: 4}]}}} | renameByDefault",
        "{sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4, rename: {}}]}}} | {}",
        "{version: '', sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4.0}]}}} | ''",
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
        "{\\n\\t\"sharing\": {\\n\\t\\t\"timeSlicing\": {\"resources\": [{\"name\":\\t\"gpu\", \"replicas\": 4}]}\\n\\t}\\n} | ''",
        "{flags: {migStrategy: single, mofedEnabled: false, failOnInitError: true, nvidiaDriverRoot: /, plugin: {passDeviceSpecs: true, deviceListStrategy: [volume-mounts, cdi-cri], deviceIDStrategy: index, containerDriverRoot: /driver-root}}} | ''",
      })
  void chart_andPlugin_sayTheSame(String config, String named) {
    String text = config.replace("\\n", "\n").replace("\\t", "\t");
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

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "version: v2 | version is \"v2\"; allowed: v1",
        "flags: {migStrategy: some} | is \"some\"; allowed: none, single, mixed",
        "flags: {plugin: {deviceListStrategy: [envvar, cdi]}} | is \"cdi\"; allowed: envvar, volume-mounts, cdi-annotations, cdi-cri",
        "sharing: {mps: {renameByDefault: 0, resources: [{name: gpu, replicas: 2}]}} | sharing.mps.renameByDefault is 0; allowed: true or false",
        "sharing: {mps: {resources: [{name: gpu, replicas: 1}]}} | sharing.mps.resources[0].replicas is 1; allowed: a whole number from 2 to 10000",
        "sharing: {mps: {resources: [{name: gpu, replicas: '4'}]}} | sharing.mps.resources[0].replicas is \"4\"; allowed: a whole number from 2 to 10000, without quotation marks",
        "sharing: {mps: {resources: [{name: gpu, replicas: 2, devices: 0}]}} | resources[0].devices is 0; allowed: \"all\", a count above 0, or a list of indexes (0), MIG indexes (\"0:1\") and uuids",
        "sharing: {mps: {resources: [{name: gpu, replicas: 2, rename: A_B}]}} | resources[0].rename is \"A_B\"; allowed: nvidia.com/ and lower-case letters, digits, dots and dashes, at most 63 characters",
      })
  void wrongValue_isReportedInTheSameWordsByBoth(String config, String sentence) {
    assertThat(errors(config)).singleElement().asString().endsWith(sentence);
    assertThatThrownBy(() -> render(Map.of("config.map.mine", config)))
        .hasMessageContaining(sentence + ".");
  }

  /** The page names every key: ConfigPageTest. */
  @Test
  void misplacedKey_belongsAtTheSamePlaceForBoth() throws IOException {
    String page = Files.readString(Path.of("../docs/node-plugin-config.md"));
    Set<String> names =
        KEY.matcher(page)
            .results()
            .map(found -> found.group(1))
            .map(key -> key.substring(key.lastIndexOf('.') + 1))
            .collect(Collectors.toCollection(TreeSet::new));
    names.removeAll(Set.of("gpus", "mig"));
    assertThat(names).hasSizeGreaterThan(30);
    for (String name : names) {
      String text = "resources: {%s: 1}".formatted(name);
      String error = errors(text).getFirst();
      assertThat(error).startsWith("unknown key resources." + name + "; it belongs at ");
      String place = error.substring(error.lastIndexOf(' ') + 1);
      assertThatThrownBy(() -> render(Map.of("config.map.mine", text)))
          .hasMessageContaining(" It belongs at " + place + ".");
    }
  }

  private static List<String> errors(String text) {
    var findings = new ConfigErrors();
    ConfigFile file = ConfigFile.parse(text, findings);
    Settings<Setting> settings =
        Settings.read(Setting.class, List.of("--mps-root=/mps"), Map.of(), findings);
    Config.of(settings, file, findings);
    return findings.errors();
  }
}
