package dev.tranche.nodeplugin.config;

import java.util.Set;
import java.util.stream.Collectors;

/** Which of several named configs a node uses. */
public sealed interface ConfigChoice {
  /** The config to use. */
  record Chosen(String name) implements ConfigChoice {}

  /** No config, and why; the reason also says what to do. */
  record Undecided(String reason) implements ConfigChoice {}

  /** NVIDIA's name for the config of nodes without a label, if no default is set. */
  String NAMED_DEFAULT = "default";

  /**
   * Chooses the config that the label names, else the default, else the one called "default", else
   * the only one.
   *
   * @param label value of the node's label nvidia.com/device-plugin.config; empty: no label
   * @param fallback the default's name; empty: none
   */
  static ConfigChoice choose(String label, String fallback, Set<String> names) {
    String wanted = label.isEmpty() ? fallback : label;
    String listed = names.stream().sorted().collect(Collectors.joining(", "));
    if (!wanted.isEmpty()) {
      return names.contains(wanted)
          ? new Chosen(wanted)
          : new Undecided("there is no config \"" + wanted + "\"; there are: " + listed);
    }
    if (names.contains(NAMED_DEFAULT)) {
      return new Chosen(NAMED_DEFAULT);
    }
    return names.size() == 1
        ? new Chosen(names.iterator().next())
        : new Undecided(
            "none of the configs is chosen ("
                + listed
                + "); set the node's label nvidia.com/device-plugin.config, or "
                + Setting.DEFAULT_CONFIG.describe());
  }
}
