package dev.tranche.e2e.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.tranche.e2e.install.Shell;
import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.ConfigFile;
import dev.tranche.nodeplugin.config.Setting;
import dev.tranche.nodeplugin.config.Sharing.DeviceSelection;
import dev.tranche.nodeplugin.config.Sharing.SharedResource;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Generated configs, as NVIDIA's own parser, the node plugin and the chart read them. */
class NvidiaConfigsIT {
  private static final int CONFIGS = 800;
  private static final int CONFIGS_A_RELEASE = 25;
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Why the plugin refuses what NVIDIA's parser takes; the parser knows none of these rules. */
  private static final List<String> REASONS =
      List.of(
          "^unknown key ",
          "\\.replicas is \\d{5,}; allowed: a whole number from [12] to 10000$",
          "; only .*nvidia.com/gpu.* can be shared$",
          "(migStrategy|deviceDiscoveryStrategy|deviceIDStrategy|deviceListStrategy)\\) is .*;"
              + " allowed: ",
          "tegra is not supported",
          "imex.channelIDs\\) is .*; allowed: 0, or none$",
          " mixed cannot be combined with sharing.mps",
          "lacks its pattern",
          "\\.devices is .*; allowed: \"all\", a count above 0, or a list ",
          "\\.devices is an empty list; name a device");

  @TempDir static Path folder;
  private static final Map<String, String> TEXTS = new TreeMap<>();

  @SuppressWarnings("NullAway.Init")
  private static JsonNode nvidia;

  @BeforeAll
  static void parse() throws IOException {
    Path configs = Files.createDirectory(folder.resolve("configs"));
    Random seeds = new Random(20_261_126);
    for (int i = 0; i < CONFIGS; i++) {
      String name = "c%04d".formatted(i);
      TEXTS.put(name, GeneratedConfig.text(new Random(seeds.nextLong())));
      Files.writeString(configs.resolve(name), TEXTS.get(name));
    }
    Path parser = Shell.built("nvidia-parser").resolve("parser");
    nvidia = JSON.readTree(Shell.output(parser + " " + configs));
  }

  /** What the plugin says of a config. */
  private record Verdict(List<String> errors, ConfigFile file, Config config) {
    static Verdict of(String text, String compatible) {
      var findings = new ConfigErrors();
      var given = List.of("--mps-root=/mps", "--nvidia-compatible=" + compatible);
      ConfigFile file = ConfigFile.parse(text, findings);
      Config config =
          Config.of(Settings.read(Setting.class, given, Map.of(), findings), file, findings);
      return new Verdict(findings.errors(), file, config);
    }

    boolean refused() {
      return !errors.isEmpty();
    }
  }

  @ParameterizedTest
  @CsvSource({"strict, used", "extended, parsed"})
  void whatNvidiaTakes_meansTheSame_orIsRefusedForANamedReason(String compatible, String theirs) {
    int same = 0;
    int refused = 0;
    for (var entry : TEXTS.entrySet()) {
      JsonNode their = nvidia.get(entry.getKey());
      if (their.has("error")) {
        continue;
      }
      String text = entry.getValue();
      Verdict our = Verdict.of(text, compatible);
      if (our.refused()) {
        refused++;
        assertThat(our.errors()).as(text).allMatch(NvidiaConfigsIT::isNamed);
        continue;
      }
      same++;
      var sections =
          compatible.equals("extended")
              ? List.of("timeSlicing", "mps")
              : List.of(their.get("strategy").textValue().equals("mps") ? "mps" : "timeSlicing");
      JsonNode used = their.get(theirs);
      assertThat(shared(our.config())).as(text).isEqualTo(shared(used, sections));
      assertThat(flags(our.file())).as(text).isEqualTo(flags(used));
    }
    assertThat(same).isGreaterThan(CONFIGS / 4);
    assertThat(refused).isGreaterThan(CONFIGS / 20);
  }

  private static boolean isNamed(String error) {
    return REASONS.stream().anyMatch(reason -> Pattern.compile(reason).matcher(error).find());
  }

  /** By strategy, name and devices; of two equal entries, the larger number of replicas counts. */
  private static Map<String, String> shared(Config ours) {
    Map<String, String> result = new TreeMap<>();
    for (SharedResource entry : ours.sharing().resources()) {
      put(
          result,
          entry.strategy() == SharingStrategy.MPS ? "mps" : "timeSlicing",
          entry.name() + " " + devices(entry.devices()),
          entry.replicas(),
          entry.advertised(),
          entry.failRequestsGreaterThanOne());
    }
    return result;
  }

  private static Map<String, String> shared(JsonNode used, List<String> sections) {
    Map<String, String> result = new TreeMap<>();
    for (String section : sections) {
      JsonNode sharing = used.get("sharing").path(section);
      for (JsonNode entry : sharing.path("resources")) {
        String name = entry.get("name").asText();
        put(
            result,
            section,
            name + " " + devices(entry.get("devices")),
            entry.get("replicas").asInt(),
            entry.path("rename").asText(name),
            sharing.path("failRequestsGreaterThanOne").asBoolean());
      }
    }
    return result;
  }

  private static void put(
      Map<String, String> result,
      String section,
      String key,
      int replicas,
      String advertised,
      boolean fails) {
    // From 0.20 on, NVIDIA's plugin keeps a "false" of mps; this parser is of 0.19.
    String failing = section.equals("mps") ? "" : " " + fails;
    result.merge(
        section + " " + key,
        "%05d %s%s".formatted(replicas, advertised, failing),
        (one, other) -> one.compareTo(other) >= 0 ? one : other);
  }

  private static String devices(DeviceSelection devices) {
    return switch (devices) {
      case DeviceSelection.All ignored -> "all";
      case DeviceSelection.Count first -> Integer.toString(first.count());
      case DeviceSelection.Listed listed -> listed.refs().toString();
    };
  }

  private static String devices(JsonNode devices) {
    if (!devices.isArray()) {
      return devices.asText();
    }
    var refs = new LinkedHashSet<String>();
    devices.forEach(ref -> refs.add(ref.asText()));
    return refs.toString();
  }

  private static Map<String, String> flags(ConfigFile ours) {
    var flags = new TreeMap<>(ours.values());
    flags.values().removeIf(NvidiaConfigsIT::isOmitted);
    // Their parser replaces its absence by the driver's root, which the plugin does later.
    flags.remove("flags.nvidiaDevRoot");
    return flags;
  }

  private static Map<String, String> flags(JsonNode used) {
    Map<String, String> flags = new TreeMap<>();
    for (String section : List.of("/flags", "/flags/plugin", "/imex")) {
      used.at(section)
          .properties()
          .forEach(
              flag ->
                  flags.put(
                      section.substring(1).replace('/', '.') + "." + flag.getKey(),
                      text(flag.getValue())));
    }
    flags.values().removeIf(NvidiaConfigsIT::isOmitted);
    List.of("flags.nvidiaDevRoot", "flags.useNodeFeatureAPI", "flags.gfd", "flags.plugin")
        .forEach(flags::remove);
    return flags;
  }

  private static String text(JsonNode value) {
    return value.isArray()
        ? StreamSupport.stream(value.spliterator(), false)
            .map(JsonNode::asText)
            .collect(Collectors.joining(","))
        : value.isNull() ? "" : value.asText();
  }

  private static boolean isOmitted(String value) {
    return value.isEmpty() || value.equals("false");
  }

  @ParameterizedTest
  @ValueSource(strings = {"strict", "extended"})
  void chart_takesWhatThePluginTakes(String compatible) throws IOException {
    List<String> taken =
        TEXTS.values().stream().filter(text -> !Verdict.of(text, compatible).refused()).toList();
    assertThat(taken).hasSizeGreaterThan(CONFIGS / 4);
    for (int from = 0; from < taken.size(); from += CONFIGS_A_RELEASE) {
      Map<String, String> configs = new TreeMap<>();
      for (String text : taken.subList(from, Math.min(from + CONFIGS_A_RELEASE, taken.size()))) {
        configs.put("c" + configs.size(), text);
      }
      assertThat(render(compatible, configs)).contains("kind: DaemonSet");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"strict", "extended"})
  void chart_refusesWhatThePluginRefuses(String compatible) {
    int refused = 0;
    List<String> wrong = new ArrayList<>();
    for (String text : TEXTS.values()) {
      Verdict verdict = Verdict.of(text, compatible);
      if (verdict.refused()) {
        refused++;
        String refusal = refusal(compatible, text);
        if (!refusal.contains("config.map.mine")) {
          wrong.add("%s%n%s, but the chart: %s".formatted(text, verdict.errors(), refusal));
        }
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(refused).isGreaterThan(CONFIGS / 4);
  }

  /** What the chart says; empty if it takes it. */
  private static String refusal(String compatible, String text) {
    try {
      render(compatible, Map.of("mine", text));
      return "";
    } catch (IllegalStateException e) {
      return String.valueOf(e.getMessage());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String render(String compatible, Map<String, String> configs) throws IOException {
    Object config =
        Map.of(
            "map",
            configs,
            "default",
            configs.keySet().iterator().next(),
            "nvidiaCompatible",
            compatible);
    return Chart.renderFile(folder, JSON.writeValueAsString(Map.of("config", config)));
  }
}
