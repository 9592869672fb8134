package dev.tranche.nodeplugin.config;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Every key that a config file can have. */
final class FileKeys {
  /** Those of a setting. */
  static final Set<String> SETTINGS =
      Arrays.stream(Setting.values())
          .map(Setting::fileKey)
          .filter(key -> !key.isEmpty())
          .collect(Collectors.toUnmodifiableSet());

  /** Read by GPU Feature Discovery out of the same file; NVIDIA's plugin ignores them too. */
  static final List<String> DISCOVERYS =
      List.of(
          "flags.useNodeFeatureAPI",
          "flags.gfd.oneshot",
          "flags.gfd.noTimestamp",
          "flags.gfd.sleepInterval",
          "flags.gfd.outputFile",
          "flags.gfd.machineTypeFile");

  private static final List<String> SECTIONS =
      List.of(
          "flags",
          "flags.plugin",
          "flags.gfd",
          "imex",
          "sharing",
          "sharing.timeSlicing",
          "sharing.mps",
          "resources",
          "resources.gpus",
          "resources.mig");

  // Those of sharing stand under timeSlicing and mps; the commoner one comes first.
  private static final List<String> OTHERS =
      List.of(
          "version",
          "sharing.timeSlicing.renameByDefault",
          "sharing.timeSlicing.failRequestsGreaterThanOne",
          "sharing.timeSlicing.resources[].name",
          "sharing.timeSlicing.resources[].replicas",
          "sharing.timeSlicing.resources[].rename",
          "sharing.timeSlicing.resources[].devices",
          "resources.gpus[].pattern",
          "resources.gpus[].name");

  private FileKeys() {}

  static boolean isSection(String at) {
    return SECTIONS.contains(at);
  }

  /** Names the place of an unknown key, and the right place where that is known. */
  static void unknown(String at, ConfigErrors findings) {
    String hint =
        placeOf(at.substring(at.lastIndexOf('.') + 1))
            .map(place -> "; it belongs at " + place)
            .orElse("; docs/node-plugin-config.md lists the keys");
    findings.error("unknown key " + at + hint);
  }

  private static Optional<String> placeOf(String name) {
    return all().stream()
        .filter(key -> key.substring(key.lastIndexOf('.') + 1).equalsIgnoreCase(name))
        .findFirst();
  }

  static List<String> all() {
    return Stream.of(
            SETTINGS.stream().sorted(), OTHERS.stream(), DISCOVERYS.stream(), SECTIONS.stream())
        .flatMap(keys -> keys)
        .toList();
  }
}
