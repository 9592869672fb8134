package dev.tranche.nodeplugin.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.tranche.nodeplugin.config.AllocateOptions.DeviceClass;
import dev.tranche.nodeplugin.config.AllocateOptions.DeviceListStrategy;
import dev.tranche.nodeplugin.config.Config.MigStrategy;
import dev.tranche.nodeplugin.config.Sharing.DeviceSelection;
import dev.tranche.nodeplugin.config.Sharing.SharedResource;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
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

  private static final String EXTENDED = "--nvidia-compatible=extended";

  private final ConfigErrors findings = new ConfigErrors();

  private Config config(String yaml, String... args) {
    return config(yaml, Map.of(), args);
  }

  private Config config(String yaml, Map<String, String> env, String... args) {
    ConfigFile file = ConfigFile.parse(yaml, findings);
    return Config.of(Settings.read(Setting.class, List.of(args), env, findings), file, findings);
  }

  private List<String> errors(String yaml) {
    config(yaml);
    return findings.errors();
  }

  @ParameterizedTest
  @EnumSource(Setting.class)
  void everySetting_hasItsDefault_andIsReadFromEnvironmentThenFlag(Setting setting) {
    assertThat(Settings.read(Setting.class, List.of(), Map.of(), findings).text(setting))
        .isEqualTo(setting.fallback());
    Map<String, String> env = Map.of(setting.variable(), "from-env");
    assertThat(Settings.read(Setting.class, List.of(), env, findings).text(setting))
        .isEqualTo("from-env");
    List<String> args = List.of("--" + setting.flag() + "=from-flag");
    assertThat(Settings.read(Setting.class, args, env, findings).text(setting))
        .isEqualTo("from-flag");
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
    assertThat(
            Settings.read(Setting.class, List.of(), Map.of(), findings)
                .withFile(file.values(), findings)
                .text(setting))
        .isEqualTo("from-file");
    Map<String, String> env = Map.of(setting.variable(), "from-env");
    assertThat(
            Settings.read(Setting.class, List.of(), env, findings)
                .withFile(file.values(), findings)
                .text(setting))
        .isEqualTo("from-env");
  }

  @Test
  void settings_areNamedOnce() {
    assertThat(Arrays.stream(Setting.values()).map(Setting::flag)).doesNotHaveDuplicates();
    assertThat(Arrays.stream(Setting.values()).map(Setting::variable)).doesNotHaveDuplicates();
  }

  @Test
  void timeSlicing_setsReplicas() {
    Config config = config(SLICED);
    assertThat(findings.errors()).isEmpty();
    assertThat(config.sharing().resources()).containsExactly(sliced("nvidia.com/gpu", 10));
  }

  private static SharedResource sliced(String advertised, int replicas) {
    return sliced(advertised, advertised, replicas);
  }

  private static SharedResource sliced(String unrenamed, String advertised, int replicas) {
    return new SharedResource(
        "sharing.timeSlicing.resources[0]",
        SharingStrategy.TIME_SLICING,
        "nvidia.com/gpu",
        unrenamed,
        advertised,
        new DeviceSelection.All(),
        replicas,
        false);
  }

  @Test
  void renameByDefault_renames_andIsNoExtension() {
    String yaml = SLICED.replace("    resources:", "    renameByDefault: true\n    resources:");
    assertThat(config(yaml).sharing().resources())
        .containsExactly(sliced("nvidia.com/gpu.shared", 10));
    assertThat(findings.warnings()).isEmpty();
  }

  @Test
  void rename_beatsRenameByDefault() {
    String yaml =
        """
        sharing:
          timeSlicing:
            renameByDefault: true
            resources: [{name: gpu, rename: gpu.tenth, replicas: 10}]
        """;
    assertThat(config(yaml, EXTENDED).sharing().resources())
        .containsExactly(sliced("nvidia.com/gpu.shared", "nvidia.com/gpu.tenth", 10));
    assertThat(findings.errors()).isEmpty();
  }

  @Test
  void devices_areAllOrACountOrAList() {
    String yaml =
        """
        sharing:
          timeSlicing:
            resources:
              - {name: gpu, replicas: 2, devices: all}
              - {name: gpu, replicas: 2, devices: 3}
              - {name: gpu, replicas: 2, devices: [0, "1", "0:1", GPU-b1028956-cfa2-0990-bf4a-5da9abb51763]}
        """;
    assertThat(config(yaml, EXTENDED).sharing().resources())
        .extracting(SharedResource::devices)
        .containsExactly(
            new DeviceSelection.All(),
            new DeviceSelection.Count(3),
            new DeviceSelection.Listed(
                List.of("0", "1", "0:1", "GPU-b1028956-cfa2-0990-bf4a-5da9abb51763")));
    assertThat(findings.errors()).isEmpty();
  }

  @Test
  void renameDevicesAndResources_areIgnoredWithAWarning_asByNvidias() {
    String yaml =
        """
        resources:
          gpus: [{pattern: "*", name: t4}]
        sharing:
          timeSlicing:
            resources:
              - {name: gpu, rename: gpu.tenth, devices: [0], replicas: 4}
              - {name: gpu, rename: gpu.shared, devices: [1], replicas: 10}
        """;
    Config config = config(yaml);
    assertThat(config.resources()).isEqualTo(ResourceNames.DEFAULT);
    assertThat(config.sharing().resources())
        .extracting(SharedResource::advertised, SharedResource::devices, SharedResource::replicas)
        .containsExactly(tuple("nvidia.com/gpu", new DeviceSelection.All(), 10));
    assertThat(findings.errors()).isEmpty();
    assertThat(findings.warnings())
        .hasSize(5)
        .allSatisfy(
            warning ->
                assertThat(warning)
                    .contains("NVIDIA's plugin ignores it", "--nvidia-compatible", "extended"))
        .anySatisfy(warning -> assertThat(warning).startsWith("resources is ignored"))
        .anySatisfy(
            warning ->
                assertThat(warning)
                    .startsWith("sharing.timeSlicing.resources[1].devices is ignored"));
  }

  /** What NVIDIA's parser accepts means the same here. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "resources: [{name: gpu, replicas: 4}]}}\\n---\\n | 4 | ''",
        "resources: [{name: gpu, replicas: 4}]}}\\n---\\nsharing: {} | 4 | a second YAML document",
        "resources: [{name: gpu, replicas: 4}]}}\\n---\\n[ | 4 | a second YAML document",
        "resources: [{name: gpu, replicas: 2, replicas: 4}]}} | 4 | the last value is used",
        "resources: [{name: gpu, replicas: 4, devices: []}]}} | 4 | resources[0].devices is"
            + " ignored",
        "resources: [{name: gpu, replicas: 4, devices: [1, 1]}]}} | 4 | names 1 twice",
        "resources: [{name: gpu, replicas: 4}]}, mps: {resources: [{name: gpu, replicas: 3}]}} | 3"
            + " | sharing.timeSlicing beside sharing.mps is ignored",
      })
  void config_meansWhatItMeansToNvidiasPlugin(String rest, int replicas, String warning) {
    String yaml = "sharing: {timeSlicing: {" + rest.replace("\\n", "\n");
    Config config = config(yaml, "--mps-root=/mps");
    assertThat(findings.errors()).isEmpty();
    assertThat(config.sharing().resources())
        .extracting(SharedResource::replicas, SharedResource::devices)
        .containsExactly(tuple(replicas, new DeviceSelection.All()));
    if (warning.isEmpty()) {
      assertThat(findings.warnings()).isEmpty();
    } else {
      assertThat(findings.warnings()).anyMatch(w -> w.contains(warning));
    }
  }

  @Test
  void emptyDevices_areRefused_whereTheyCount() {
    config(
        "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4, devices: []}]}}", EXTENDED);
    assertThat(findings.errors()).anyMatch(e -> e.contains(".devices is an empty list"));
  }

  @Test
  void nvidiaCompatible_isStrictOrExtended() {
    config("version: v1", "--nvidia-compatible=lax");
    assertThat(findings.errors())
        .containsExactly(
            "--nvidia-compatible (TRANCHE_NVIDIA_COMPATIBLE) is \"lax\"; allowed: strict,"
                + " extended");
  }

  @Test
  void mps_isStrictUnlessToldOtherwise() {
    String yaml = "flags: {mpsRoot: /run/nvidia/mps}\n" + SLICED.replace("timeSlicing", "mps");
    SharedResource entry = config(yaml).sharing().resources().getFirst();
    assertThat(entry.strategy()).isEqualTo(SharingStrategy.MPS);
    assertThat(entry.failRequestsGreaterThanOne()).isTrue();
    String lenient = yaml.replace("mps:\n", "mps:\n    failRequestsGreaterThanOne: false\n");
    entry = config(lenient).sharing().resources().getFirst();
    assertThat(entry.failRequestsGreaterThanOne()).isFalse();
    assertThat(findings.errors()).isEmpty();
  }

  @Test
  void resources_nameGpusByTheirModel() {
    String yaml =
        """
        resources:
          gpus:
            - {pattern: "*A100*", name: a100}
            - {pattern: "Tesla T4", name: nvidia.com/t4}
        sharing: {timeSlicing: {resources: [{name: a100, replicas: 4}]}}
        """;
    ResourceNames names = config(yaml, EXTENDED).resources();
    assertThat(findings.errors()).isEmpty();
    assertThat(names.ofGpu("NVIDIA A100-SXM4-40GB")).isEqualTo("nvidia.com/a100");
    assertThat(names.ofGpu("Tesla T4")).isEqualTo("nvidia.com/t4");
    assertThat(names.ofGpu("Tesla T40")).isEqualTo("nvidia.com/gpu");
  }

  @Test
  void flags_areTyped() {
    String yaml =
        """
        flags:
          migStrategy: mixed
          mpsRoot: /run/nvidia/mps
          nvidiaDriverRoot: /run/nvidia/driver
          gdrcopyEnabled: true
          plugin:
            deviceListStrategy: [envvar, cdi-cri]
            deviceIDStrategy: index
            cdiAnnotationPrefix: cdi.example/
            nvidiaCTKPath: /opt/nvidia-cdi-hook
            sharedDevicesAllocationPolicy: packed
        imex: {channelIDs: [0], required: true}
        """;
    Config config = config(yaml, "--cdi-disable-hooks=a", "--cdi-disable-hooks=b");
    assertThat(findings.errors()).isEmpty();
    assertThat(config)
        .isEqualTo(
            new Config(
                true,
                MigStrategy.MIXED,
                true,
                "/run/nvidia/mps",
                false,
                new AllocateOptions(
                    Set.of(DeviceListStrategy.ENVVAR, DeviceListStrategy.CDI_CRI),
                    true,
                    false,
                    "/run/nvidia/driver",
                    "/run/nvidia/driver",
                    "/driver-root",
                    Set.of(DeviceClass.GDRCOPY),
                    "cdi.example/",
                    "/opt/nvidia-cdi-hook",
                    Set.of("a", "b"),
                    true,
                    true),
                ResourceNames.DEFAULT,
                Sharing.NONE));
  }

  @Test
  void operatorsEnvironment_isAccepted() {
    Config config =
        config(
            "version: v1\nflags:\n  migStrategy: none\n",
            Map.of(
                "PASS_DEVICE_SPECS", "true",
                "FAIL_ON_INIT_ERROR", "true",
                "DEVICE_LIST_STRATEGY", "envvar",
                "DEVICE_ID_STRATEGY", "uuid",
                "NVIDIA_VISIBLE_DEVICES", "all",
                "NVIDIA_DRIVER_CAPABILITIES", "all"));
    assertThat(findings.errors()).isEmpty();
    assertThat(config.allocate().passDeviceSpecs()).isTrue();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "flags: {migStrategy: some} | MIG_STRATEGY, flags.migStrategy) is \"some\"; allowed: none,"
            + " single, mixed",
        "flags: {plugin: {deviceListStrategy: [envvar, cdi]}} | DEVICE_LIST_STRATEGY",
        "flags: {plugin: {deviceListStrategy: []}} | allowed: one or more of envvar",
        "flags: {deviceDiscoveryStrategy: tegra} | needs NVIDIA's device plugin",
        "imex: {channelIDs: [1]} | is \"1\"; allowed: 0, or none",
        "sharing: {mps: {resources: []}} | sharing.mps.resources is empty",
        "sharing: {mps: {resources: [{name: gpu, replicas: 1}]}} | .replicas is 1; allowed: a whole"
            + " number from 2 to 10000",
        "sharing: {mps: {resources: [{name: gpu, replicas: 2}]}} | MPS_ROOT",
        "{flags: {migStrategy: mixed}, sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}} |"
            + " mixed cannot be combined with sharing.mps",
        "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 0}]}} | .replicas is"
            + " 0; allowed: a whole number from 1 to 10000",
        "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: two}]}} | .replicas"
            + " is \"two\"; allowed: a whole number from 1 to 10000, without quotation marks",
        "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 10001}]}} | .replicas"
            + " is 10001; allowed: a whole number from 1 to 10000",
        "sharing: {timeSlicing: {resources: [{name: a/b, replicas: 2}]}} | only nvidia.com/gpu",
        "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, rename: A_B}]}} | .rename is"
            + " \"A_B\"; allowed: nvidia.com/ and",
        "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: some}]}} | .devices"
            + " is \"some\"; allowed: ",
        "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: 0}]}} | a count"
            + " above 0",
        "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: [x]}]}} | .devices"
            + " is \"x\"; allowed: ",
        "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, renameByDefault: true}]}} |"
            + " it belongs at sharing.timeSlicing.renameByDefault",
        "sharing: {renameByDefault: true} | it belongs at sharing.timeSlicing.renameByDefault",
        "flags: {failRequestsGreaterThanOne: true} | it belongs at"
            + " sharing.timeSlicing.failRequestsGreaterThanOne",
        "timeSlicing: {} | it belongs at sharing.timeSlicing",
        "flags: {sharing: {}} | it belongs at sharing",
        "resources: {gpus: [{name: x}]} | lacks its pattern",
        "sharing: {timeslicing: {}} | unknown key sharing.timeslicing; it belongs at"
            + " sharing.timeSlicing",
        "replicas: 4 | unknown key replicas; it belongs at"
            + " sharing.timeSlicing.resources[].replicas",
        "flags: {passDeviceSpecs: true} | it belongs at flags.plugin.passDeviceSpecs",
        "version: v2 | version is \"v2\"; allowed: v1",
      })
  void whatIsNotHonoured_isRefusedByName(String line, String named) {
    assertThat(errors(line)).anyMatch(e -> e.contains(named));
  }

  @Test
  void whatHasNoEffect_isWarnedAboutByName() {
    String yaml =
        """
        version: v1
        flags:
          useNodeFeatureAPI: false
          gfd: {oneshot: false}
        """;
    assertThat(errors(yaml)).isEmpty();
    assertThat(findings.warnings())
        .containsExactly(
            "flags.useNodeFeatureAPI is GPU Feature Discovery's and has no effect here",
            "flags.gfd.oneshot is GPU Feature Discovery's and has no effect here");
  }

  @ParameterizedTest
  @ValueSource(strings = {"version: [", "- a", "just text"})
  void whatIsNoConfig_isOneError(String text) {
    assertThat(errors(text)).hasSize(1);
  }

  @Test
  void emptyFile_sharesNothing_andIsWarnedAbout() {
    assertThat(config("").sharing()).isEqualTo(Sharing.NONE);
    assertThat(findings.errors()).isEmpty();
    assertThat(findings.warnings()).hasSize(1);
  }

  @Test
  void choice_isLabelThenDefaultThenTheOnlyOne() {
    Set<String> two = Set.of("a", "b");
    assertThat(ConfigSource.choose("b", "a", two)).isEqualTo("b");
    assertThat(ConfigSource.choose("", "a", two)).isEqualTo("a");
    assertThat(ConfigSource.choose("", "", Set.of("any"))).isEqualTo("any");
    assertThat(ConfigSource.choose("", "", Set.of("a", "default"))).isEqualTo("default");
    assertThat(ConfigSource.choose("", "", two)).isEmpty();
    assertThat(ConfigSource.choose("c", "a", two)).isEqualTo("c");
  }

  @Test
  void options_areCheckedTogether() {
    Settings<Setting> settings =
        Settings.read(
            Setting.class,
            List.of("--extender-address", "nowhere", "--sample-interval=1h", "--what=1", "x"),
            Map.of(),
            findings);
    Options.of(settings);
    assertThat(findings.errors()).hasSize(5);
  }

  private String replicasFinding(String replicas) {
    ConfigErrors found = new ConfigErrors();
    ConfigFile.parse(
        "sharing: {timeSlicing: {resources: [{name: gpu, replicas: " + replicas + "}]}}", found);
    assertThat(found.errors()).hasSize(1);
    return found.errors().getFirst();
  }

  @Test
  void replicas_thatAreNoWholeNumber_areShownAsTheyAre() {
    String allowed = "allowed: a whole number from 1 to 10000";
    assertThat(replicasFinding("\"10\""))
        .endsWith("is \"10\"; " + allowed + ", without quotation marks");
    assertThat(replicasFinding("1:30")).contains("is \"1:30\"; " + allowed);
    for (String wrong :
        List.of("10.5", "2147483648", "99999999999999999999", "0", "-99999999999")) {
      assertThat(replicasFinding(wrong)).matches(".* is [-.E\\d]+; " + allowed);
    }
    assertThat(replicasFinding("2147483648")).contains("is 2147483648; ");
    assertThat(replicasFinding("")).endsWith("is null; " + allowed);
  }

  @ParameterizedTest
  @CsvSource({
    "10.0, 10",
    "1e1, 10",
    "+10, 10",
    "1_0, 10",
    "012, 10",
    "0o12, 10",
    "0x0A, 10",
    "0b1010, 10",
    "!!int '10', 10",
    "!!float 10, 10"
  })
  void replicas_areReadAsGoReadsThem(String given, int replicas) {
    Config config =
        config("sharing: {timeSlicing: {resources: [{name: gpu, replicas: " + given + "}]}}");
    assertThat(findings.errors()).isEmpty();
    assertThat(config.sharing().resources().getFirst().replicas()).isEqualTo(replicas);
  }

  /** Go takes them for spaces there. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\n"
            + "\t\"sharing\":\t{\"timeSlicing\": {\"resources\": [\n"
            + "\t\t{\"name\": \"gpu\",\t\"replicas\": 4}]}}}",
        "sharing:\n  timeSlicing:\t\n    resources:\n    - name:\tgpu\n      replicas: \t4\n",
        "sharing:\n  timeSlicing: {resources: [{name: gpu, replicas: 4}]} # why:\t{\n"
      })
  void tabs_areSpaces_inJsonAndAfterAKey(String yaml) {
    assertThat(ConfigFile.parse(yaml, findings).sharing().resources())
        .extracting(SharedResource::replicas)
        .containsExactly(4);
    assertThat(findings.clean()).isTrue();
  }

  @Test
  void tabThatIndents_isRefused() {
    assertThat(errors("sharing:\n\ttimeSlicing: {}\n")).singleElement().asString().contains("YAML");
  }

  /** As in YAML 1.1 without its numbers of base 60; SnakeYAML makes 60 of it. */
  @Test
  void migIndex_isNoNumberOfBase60() {
    Config config =
        config(
            "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4, devices: [1:0]}]}}",
            EXTENDED);
    assertThat(findings.errors()).isEmpty();
    assertThat(config.sharing().resources().getFirst().devices())
        .isEqualTo(new DeviceSelection.Listed(List.of("1:0")));
  }

  @Test
  void mergeKey_givesWhatTheMapLacks() {
    String yaml =
        """
        sharing:
          timeSlicing:
            resources:
              - &four {name: gpu, replicas: 4}
              - {<<: *four}
              - {<<: *four, replicas: 8}
        """;
    assertThat(ConfigFile.parse(yaml, findings).sharing().resources())
        .extracting(SharedResource::replicas)
        .containsExactly(4, 4, 8);
  }

  @Test
  void manyAliases_areCountedByWhatTheyStandFor() {
    StringBuilder yaml =
        new StringBuilder("sharing: {timeSlicing: {resources: [&gpu {name: gpu, replicas: 4}");
    yaml.append(", *gpu".repeat(200)).append("]}}");
    assertThat(errors(yaml.toString())).isEmpty();
  }

  @Test
  void aliasWithinItsOwnAnchor_isRefused() {
    ConfigFile.parse("flags: {plugin: {deviceListStrategy: &a [[*a]]}}", findings);
    assertThat(findings.errors()).singleElement().asString().contains("alias");
  }

  @Test
  void listsAndValues_areNotTakenForEachOther() {
    ConfigFile.parse(
        "flags: {plugin: {deviceListStrategy: [[envvar]], passDeviceSpecs: [true]}}", findings);
    assertThat(findings.errors())
        .satisfiesExactlyInAnyOrder(
            e -> assertThat(e).contains("deviceListStrategy is a list of single values"),
            e -> assertThat(e).contains("passDeviceSpecs is a single value, not a list"));
  }

  @Test
  void sharingThatIsEmpty_isToldAsSuch() {
    ConfigFile.parse("sharing: {timeSlicing: }", findings);
    assertThat(findings.clean()).isTrue();
    assertThat(findings.warnings())
        .containsExactly("sharing.timeSlicing is empty, so it shares nothing");
  }
}
