package dev.tranche.nodeplugin.config;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Converts settings and a config file to typed values and checks them. All errors go to the
 * findings.
 */
final class ConfigReader {
  private static final String TEGRA =
      " is not honoured: this plugin finds GPUs by NVML; a Tegra node needs NVIDIA's device plugin";

  private final Settings settings;
  private final ConfigErrors findings;

  ConfigReader(Settings settings, ConfigErrors findings) {
    this.settings = settings;
    this.findings = findings;
  }

  Config read(ConfigFile given) {
    checkDiscoveryStrategy();
    ConfigFile file =
        enumValue(Setting.NVIDIA_COMPATIBLE, NvidiaCompatible.class).applyTo(given, findings);
    for (Setting setting : settings.withoutEffect()) {
      findings.warning(Settings.describe(setting) + " has no effect here");
    }
    Config config =
        new Config(
            settings.isTrue(Setting.FAIL_ON_INIT_ERROR, findings),
            enumValue(Setting.MIG_STRATEGY, MigStrategy.class),
            enumValue(Setting.SHARED_DEVICES_ALLOCATION_POLICY, SharedAllocationPolicy.class),
            settings.text(Setting.MPS_ROOT),
            enumValue(Setting.PLAIN_REQUESTS, PlainRequests.class),
            allocate(),
            file.resources(),
            file.sharing());
    checkCombinations(config);
    return config;
  }

  private void checkDiscoveryStrategy() {
    Setting strategy = Setting.DEVICE_DISCOVERY_STRATEGY;
    switch (settings.text(strategy)) {
      case "auto", "nvml" -> {}
      case "tegra" -> findings.error(Settings.describe(strategy) + ": tegra" + TEGRA);
      default -> settings.reportInvalid(strategy, "auto or nvml", findings);
    }
  }

  private AllocateOptions allocate() {
    return new AllocateOptions(
        deviceListStrategies(),
        enumValue(Setting.DEVICE_ID_STRATEGY, DeviceIdStrategy.class),
        settings.isTrue(Setting.PASS_DEVICE_SPECS, findings),
        settings.text(Setting.DRIVER_ROOT),
        devRoot(),
        settings.text(Setting.DRIVER_ROOT_CTR_PATH),
        settings.isTrue(Setting.GDRCOPY_ENABLED, findings),
        settings.isTrue(Setting.GDS_ENABLED, findings),
        settings.isTrue(Setting.MOFED_ENABLED, findings),
        new CdiOptions(
            settings.text(Setting.CDI_ANNOTATION_PREFIX),
            settings.text(Setting.NVIDIA_CDI_HOOK_PATH),
            settings.list(Setting.CDI_FEATURE_FLAGS),
            settings.list(Setting.CDI_DISABLE_HOOKS)),
        new ImexOptions(imexChannels(), settings.isTrue(Setting.IMEX_REQUIRED, findings)));
  }

  private Set<DeviceListStrategy> deviceListStrategies() {
    List<String> names = settings.list(Setting.DEVICE_LIST_STRATEGY);
    if (names.isEmpty()) {
      findings.error(
          Settings.describe(Setting.DEVICE_LIST_STRATEGY)
              + " is empty; it is one or more of "
              + enumNames(DeviceListStrategy.class));
    }
    return names.stream()
        .map(w -> enumValue(Setting.DEVICE_LIST_STRATEGY, w, DeviceListStrategy.class))
        .collect(Collectors.toUnmodifiableSet());
  }

  private String devRoot() {
    String root = settings.text(Setting.DEV_ROOT);
    String chosen = root.isEmpty() ? settings.text(Setting.DRIVER_ROOT) : root;
    return chosen.endsWith("/") ? chosen.substring(0, chosen.length() - 1) : chosen;
  }

  // NVIDIA's rule: no channel, or only the first.
  private List<Integer> imexChannels() {
    List<String> ids = settings.list(Setting.IMEX_CHANNEL_IDS);
    if (ids.isEmpty() || ids.equals(List.of("0"))) {
      return ids.isEmpty() ? List.of() : List.of(0);
    }
    findings.error(Settings.describe(Setting.IMEX_CHANNEL_IDS) + " is [] or [0], not " + ids);
    return List.of();
  }

  private <E extends Enum<E>> E enumValue(Setting setting, Class<E> type) {
    return enumValue(setting, settings.text(setting), type);
  }

  private <E extends Enum<E>> E enumValue(Setting setting, String text, Class<E> type) {
    E[] values = type.getEnumConstants();
    for (E value : values) {
      if (lower(value).equals(text)) {
        return value;
      }
    }
    findings.error(
        Settings.describe(setting) + " is one of " + enumNames(type) + ", not \"" + text + "\"");
    return values[0];
  }

  private static <E extends Enum<E>> String enumNames(Class<E> type) {
    return Arrays.stream(type.getEnumConstants())
        .map(ConfigReader::lower)
        .collect(Collectors.joining(", "));
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  private void checkCombinations(Config config) {
    if (config.sharing().uses(SharingStrategy.MPS)) {
      if (config.migStrategy() == MigStrategy.MIXED) {
        findings.error(
            Settings.describe(Setting.MIG_STRATEGY)
                + ": mixed does not go with sharing.mps; set it to none or single");
      }
      if (config.mpsRoot().isEmpty()) {
        findings.error(
            "sharing.mps needs "
                + Settings.describe(Setting.MPS_ROOT)
                + ", the host folder of the MPS control daemon, such as /run/nvidia/mps");
      }
    }
  }
}
