package dev.tranche.nodeplugin.config;

import dev.tranche.api.Names;
import java.util.Set;

/**
 * What a config file decides, checked.
 *
 * @param passDeviceSpecs name the device nodes to the kubelet
 * @param byIndex containers are told GPU indexes rather than uuids
 * @param devRoot the host folder that holds dev, no trailing slash; empty: the root
 */
public record Config(
    boolean failOnInitError,
    boolean passDeviceSpecs,
    boolean byIndex,
    String devRoot,
    String driverRootInContainer,
    Sharing sharing) {
  /** More ids do not fit into the 4 MiB of a gRPC message. */
  public static final int REPLICAS_PER_NODE_MAX = 10_000;

  private static final Set<Setting> WITHOUT_EFFECT =
      Set.of(
          Setting.CDI_ANNOTATION_PREFIX,
          Setting.NVIDIA_CDI_HOOK_PATH,
          Setting.MPS_ROOT,
          Setting.SHARED_DEVICES_ALLOCATION_POLICY);

  /** Typed and checked; all that is wrong goes to the findings. */
  public static Config of(Settings settings, Sharing sharing, Findings findings) {
    only(settings, Setting.MIG_STRATEGY, Set.of("none"), findings);
    only(settings, Setting.DEVICE_LIST_STRATEGY, Set.of("envvar"), findings);
    only(settings, Setting.DEVICE_ID_STRATEGY, Set.of("uuid", "index"), findings);
    only(settings, Setting.DEVICE_DISCOVERY_STRATEGY, Set.of("auto", "nvml"), findings);
    only(settings, Setting.IMEX_CHANNEL_IDS, Set.of("", "[]"), findings);
    only(settings, Setting.CDI_FEATURE_FLAGS, Set.of(""), findings);
    only(settings, Setting.CDI_DISABLE_HOOKS, Set.of(""), findings);
    off(settings, Setting.GDRCOPY_ENABLED, findings);
    off(settings, Setting.GDS_ENABLED, findings);
    off(settings, Setting.MOFED_ENABLED, findings);
    off(settings, Setting.IMEX_REQUIRED, findings);
    WITHOUT_EFFECT.stream()
        .sorted()
        .filter(settings::isSet)
        .forEach(s -> findings.warning(Settings.named(s) + " is " + s.meaning()));
    return new Config(
        settings.isTrue(Setting.FAIL_ON_INIT_ERROR, findings),
        settings.isTrue(Setting.PASS_DEVICE_SPECS, findings),
        settings.text(Setting.DEVICE_ID_STRATEGY).equals("index"),
        devRoot(settings),
        settings.text(Setting.DRIVER_ROOT_CTR_PATH),
        sharing);
  }

  private static void only(Settings settings, Setting setting, Set<String> allowed, Findings f) {
    String text = settings.text(setting);
    if (!allowed.contains(text)) {
      String list = allowed.equals(Set.of("")) ? "nothing" : String.join(" or ", sorted(allowed));
      f.error(Settings.named(setting) + ": \"" + text + "\" is not yet honoured, only " + list);
    }
  }

  private static Iterable<String> sorted(Set<String> values) {
    return values.stream().filter(v -> !v.isEmpty()).sorted().toList();
  }

  private static void off(Settings settings, Setting setting, Findings findings) {
    if (settings.isTrue(setting, findings)) {
      findings.error(Settings.named(setting) + ": true is not yet honoured, only false");
    }
  }

  private static String devRoot(Settings settings) {
    String root = settings.text(Setting.DEV_ROOT);
    String chosen = root.isEmpty() ? settings.text(Setting.DRIVER_ROOT) : root;
    return chosen.endsWith("/") ? chosen.substring(0, chosen.length() - 1) : chosen;
  }

  /** The extended resource that GPUs are advertised under. */
  public String resource() {
    return sharing.shared() && sharing.renameByDefault()
        ? Names.RESOURCE + ".shared"
        : Names.RESOURCE;
  }

  /** Empty, or a sentence that says why so many GPUs are too many for this config. */
  public String unfit(int gpus) {
    long total = (long) gpus * sharing.replicas();
    return total <= REPLICAS_PER_NODE_MAX
        ? ""
        : "sharing.timeSlicing: %d replicas of %d GPUs are %d, and a node can have %d; lower replicas to %d"
            .formatted(
                sharing.replicas(),
                gpus,
                total,
                REPLICAS_PER_NODE_MAX,
                REPLICAS_PER_NODE_MAX / gpus);
  }
}
