package dev.tranche.nodeplugin.config;

import static java.util.stream.Collectors.toUnmodifiableSet;

import dev.tranche.process.settings.ConfigErrors;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Every key that a config file can have. */
final class FileKeys {
  /** Keys of settings. */
  static final Set<String> SETTINGS =
      Arrays.stream(Setting.values())
          .map(Setting::fileKey)
          .filter(key -> !key.isEmpty())
          .collect(toUnmodifiableSet());

  /** Keys that GPU Feature Discovery reads from the same file; NVIDIA's plugin ignores them too. */
  static final List<String> GFD_KEYS =
      List.of(
          "flags.useNodeFeatureAPI",
          "flags.gfd.oneshot",
          "flags.gfd.noTimestamp",
          "flags.gfd.sleepInterval",
          "flags.gfd.outputFile",
          "flags.gfd.machineTypeFile");

  static final List<String> SECTIONS =
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

  // The keys of sharing exist under timeSlicing and mps; only the more common place is listed.
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

  /** Whether a key may have a list. */
  static boolean isList(String key) {
    return Arrays.stream(Setting.values()).anyMatch(s -> s.isList() && s.fileKey().equals(key));
  }

  /** Reports an unknown key, and the right place for it where that is known. */
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
            SETTINGS.stream().sorted(), OTHERS.stream(), GFD_KEYS.stream(), SECTIONS.stream())
        .flatMap(keys -> keys)
        .toList();
  }
}
