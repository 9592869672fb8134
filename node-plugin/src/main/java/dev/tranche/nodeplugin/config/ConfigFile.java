package dev.tranche.nodeplugin.config;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;

/**
 * One config file of NVIDIA's device plugin, {@code version: v1}: its flags as text by dotted key,
 * and its sharing.
 */
public record ConfigFile(Map<String, String> values, Sharing sharing) {
  public static final ConfigFile EMPTY = new ConfigFile(Map.of(), Sharing.NONE);

  private static final int SIZE_MAX_CHARS = 1 << 20;
  private static final Set<String> TOP =
      Set.of("version", "flags", "sharing", "resources", "imex", "health");
  private static final Set<String> KEYS =
      Arrays.stream(Setting.values())
          .map(Setting::fileKey)
          .filter(k -> !k.isEmpty())
          .collect(Collectors.toUnmodifiableSet());
  // Read by GPU Feature Discovery out of the same file.
  private static final Set<String> NOT_OURS = Set.of("flags.gfd", "flags.useNodeFeatureAPI");

  /** Reads a file's text; whatever is wrong with it goes to the findings. */
  public static ConfigFile parse(String text, Findings findings) {
    Object root = load(text, findings);
    if (!(root instanceof Map<?, ?> map)) {
      if (findings.clean()) {
        findings.error("the config is not a map; it starts with \"version: v1\"");
      }
      return EMPTY;
    }
    checkTop(map, findings);
    Map<String, String> values = new LinkedHashMap<>();
    flatten("flags", map.get("flags"), values, findings);
    flatten("imex", map.get("imex"), values, findings);
    return new ConfigFile(values, SharingSection.parse(map.get("sharing"), findings));
  }

  private static @Nullable Object load(String text, Findings findings) {
    LoaderOptions limits = new LoaderOptions();
    limits.setCodePointLimit(SIZE_MAX_CHARS);
    limits.setAllowDuplicateKeys(false);
    try {
      return new Yaml(new SafeConstructor(limits)).load(text);
    } catch (YAMLException e) {
      findings.error(
          "the config is not YAML: " + String.valueOf(e.getMessage()).replaceAll("\\s+", " "));
      return null;
    }
  }

  private static void checkTop(Map<?, ?> map, Findings findings) {
    if (!"v1".equals(map.get("version"))) {
      findings.error("version must be v1, not " + map.get("version"));
    }
    for (Object key : map.keySet()) {
      if (!TOP.contains(String.valueOf(key))) {
        unknown(String.valueOf(key), findings);
      }
    }
    if (map.get("resources") != null) {
      findings.warning("resources is not yet honoured: every GPU is advertised as nvidia.com/gpu");
    }
    if (map.get("health") != null) {
      findings.error("health is not yet honoured: use DP_DISABLE_HEALTHCHECKS");
    }
  }

  private static void flatten(
      String at, @Nullable Object node, Map<String, String> values, Findings findings) {
    if (node == null) {
      return;
    }
    if (NOT_OURS.contains(at)) {
      findings.warning(at + " is GPU Feature Discovery's and has no effect here");
    } else if (KEYS.contains(at)) {
      values.put(at, scalar(at, node, findings));
    } else if (node instanceof Map<?, ?> map && isSection(at)) {
      map.forEach((key, value) -> flatten(at + "." + key, value, values, findings));
    } else {
      unknown(at, findings);
    }
  }

  private static boolean isSection(String at) {
    return at.equals("flags") || at.equals("imex") || at.equals("flags.plugin");
  }

  private static String scalar(String at, Object node, Findings findings) {
    if (node instanceof List<?> list) {
      return list.stream().map(String::valueOf).collect(Collectors.joining(","));
    }
    if (node instanceof Map) {
      findings.error(at + " is a single value, not a map");
      return "";
    }
    return String.valueOf(node);
  }

  /** Names the place of an unknown key, and the right place where that is known. */
  static void unknown(String at, Findings findings) {
    String name = at.substring(at.lastIndexOf('.') + 1);
    String hint =
        KEYS.stream()
            .filter(k -> k.substring(k.lastIndexOf('.') + 1).equalsIgnoreCase(name))
            .findFirst()
            .or(() -> SharingSection.placeOf(name))
            .map(k -> "; it belongs at " + k)
            .orElse("; see the node plugin's README for the keys");
    findings.error("unknown key " + at + hint);
  }
}
