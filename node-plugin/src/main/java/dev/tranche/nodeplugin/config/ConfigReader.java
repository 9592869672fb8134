package dev.tranche.nodeplugin.config;

import static java.util.stream.Collectors.toCollection;

import dev.tranche.nodeplugin.config.AllocateOptions.DeviceClass;
import dev.tranche.nodeplugin.config.AllocateOptions.DeviceListStrategy;
import dev.tranche.nodeplugin.config.Config.MigStrategy;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Converts settings and a config file to typed values and checks them. All errors go to the
 * findings.
 */
record ConfigReader(Settings<Setting> settings, ConfigErrors findings) {
  private static final String TEGRA =
      " is not supported: this plugin discovers GPUs by NVML; a Tegra node needs NVIDIA's device"
          + " plugin";

  Config read(ConfigFile given) {
    checkDiscoveryStrategy();
    ConfigFile file =
        settings
            .oneOf(Setting.NVIDIA_COMPATIBLE, List.of(NvidiaCompatible.values()))
            .applyTo(given, findings);
    // NVIDIA's plugin passes it to its generator of CDI specs; ours has no such features.
    if (settings.isSet(Setting.CDI_FEATURE_FLAGS)) {
      findings.warning(Setting.CDI_FEATURE_FLAGS.describe() + " has no effect here");
    }
    Config config =
        new Config(
            settings.isTrue(Setting.FAIL_ON_INIT_ERROR),
            settings.oneOf(Setting.MIG_STRATEGY, List.of(MigStrategy.values())),
            settings.isSecond(Setting.SHARED_DEVICES_ALLOCATION_POLICY, "distributed", "packed"),
            settings.text(Setting.MPS_ROOT),
            settings.isSecond(Setting.PLAIN_REQUESTS, "replicas", "gpus"),
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
      case "tegra" -> findings.error(strategy.describe() + ": tegra" + TEGRA);
      default -> settings.reportInvalid(strategy, "auto or nvml");
    }
  }

  private AllocateOptions allocate() {
    return new AllocateOptions(
        deviceListStrategies(),
        settings.isSecond(Setting.DEVICE_ID_STRATEGY, "uuid", "index"),
        settings.isTrue(Setting.PASS_DEVICE_SPECS),
        settings.text(Setting.DRIVER_ROOT),
        devRoot(),
        settings.text(Setting.DRIVER_ROOT_CTR_PATH),
        additional(),
        settings.text(Setting.CDI_ANNOTATION_PREFIX),
        settings.text(Setting.NVIDIA_CDI_HOOK_PATH),
        Set.copyOf(settings.list(Setting.CDI_DISABLE_HOOKS)),
        imexChannel(),
        settings.isTrue(Setting.IMEX_REQUIRED));
  }

  private Set<DeviceClass> additional() {
    return Arrays.stream(DeviceClass.values())
        .filter(of -> settings.isTrue(Setting.valueOf(of.name() + "_ENABLED")))
        .collect(toCollection(() -> EnumSet.noneOf(DeviceClass.class)));
  }

  private Set<DeviceListStrategy> deviceListStrategies() {
    Setting strategy = Setting.DEVICE_LIST_STRATEGY;
    if (settings.list(strategy).isEmpty()) {
      settings.reportInvalid(strategy, strategy.meaning());
    }
    return Set.copyOf(settings.someOf(strategy, List.of(DeviceListStrategy.values())));
  }

  private String devRoot() {
    String root = settings.text(Setting.DEV_ROOT);
    return (root.isEmpty() ? settings.text(Setting.DRIVER_ROOT) : root).replaceFirst("/$", "");
  }

  // NVIDIA's rule: no channel, or only the first.
  private boolean imexChannel() {
    List<String> ids = settings.list(Setting.IMEX_CHANNEL_IDS);
    if (!ids.isEmpty() && !ids.equals(List.of("0"))) {
      settings.reportInvalid(Setting.IMEX_CHANNEL_IDS, "0, or none");
    }
    return !ids.isEmpty();
  }

  private void checkCombinations(Config config) {
    if (config.sharing().uses(SharingStrategy.MPS)) {
      if (config.migStrategy() == MigStrategy.MIXED) {
        findings.error(
            Setting.MIG_STRATEGY.describe()
                + ": mixed cannot be combined with sharing.mps; set it to none or single");
      }
      if (config.mpsRoot().isEmpty()) {
        findings.error(
            "sharing.mps needs "
                + Setting.MPS_ROOT.describe()
                + ", the host folder of the MPS control daemon, such as /run/nvidia/mps");
      }
    }
  }
}
