package dev.tranche.nodeplugin.config;

import static java.util.stream.Collectors.joining;

import dev.tranche.process.settings.ConfigErrors;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.error.YAMLException;

/**
 * One config file of NVIDIA's device plugin, {@code version: v1}: its flags as text by dotted key,
 * its resource names and its sharing.
 */
public record ConfigFile(Map<String, String> values, ResourceNames resources, Sharing sharing) {
  public static final ConfigFile EMPTY =
      new ConfigFile(Map.of(), ResourceNames.DEFAULT, Sharing.NONE);

  private static final Set<String> TOP_KEYS =
      Set.of("version", "flags", "sharing", "resources", "imex");

  /** Reads a file's text; whatever is wrong with it goes to the findings. */
  public static ConfigFile parse(String text, ConfigErrors findings) {
    Object root = load(text, findings);
    if (!(root instanceof Map<?, ?> map)) {
      if (root != null) {
        findings.error("the config is not a map; it starts with \"version: v1\"");
      } else if (findings.clean()) {
        findings.warning("the config is empty: no GPU is shared");
      }
      return EMPTY;
    }
    checkTopKeys(map, findings);
    Map<String, String> values = new LinkedHashMap<>();
    flatten("flags", map.get("flags"), values, findings);
    flatten("imex", map.get("imex"), values, findings);
    ResourceNames resources = ResourceNames.parse(map.get("resources"), findings);
    return new ConfigFile(
        values, resources, SharingSection.parse(map.get("sharing"), resources, findings));
  }

  private static @Nullable Object load(String text, ConfigErrors findings) {
    try {
      return GoYaml.read(text, findings);
    } catch (YAMLException e) {
      findings.error(
          "the config is not YAML: " + String.valueOf(e.getMessage()).replaceAll("\\s+", " "));
      return null;
    }
  }

  private static void checkTopKeys(Map<?, ?> map, ConfigErrors findings) {
    Object version = map.get("version");
    if (version != null && !version.equals("") && !version.equals("v1")) {
      findings.invalid("version", version, "v1");
    }
    for (Object key : map.keySet()) {
      if (!TOP_KEYS.contains(String.valueOf(key))) {
        FileKeys.unknown(String.valueOf(key), findings);
      }
    }
  }

  private static void flatten(
      String at, @Nullable Object node, Map<String, String> values, ConfigErrors findings) {
    if (FileKeys.SETTINGS.contains(at)) {
      if (node != null) {
        values.put(at, scalar(at, node, findings));
      }
    } else if (FileKeys.GFD_KEYS.contains(at)) {
      findings.warning(at + " is GPU Feature Discovery's and has no effect here");
    } else if (FileKeys.SECTIONS.contains(at)) {
      Section.of(at, node, findings)
          .map()
          .forEach((key, value) -> flatten(at + "." + key, value, values, findings));
    } else {
      FileKeys.unknown(at, findings);
    }
  }

  private static String scalar(String at, Object node, ConfigErrors findings) {
    if (node instanceof List<?> list) {
      if (!FileKeys.isList(at)) {
        findings.error(at + " is a single value, not a list: " + list);
      } else if (list.stream().anyMatch(item -> item instanceof List || item instanceof Map)) {
        findings.error(at + " is a list of single values, not " + list);
      }
      return list.stream().map(String::valueOf).collect(joining(","));
    }
    if (node instanceof Map) {
      findings.error(at + " is a single value, not a map");
      return "";
    }
    return String.valueOf(node);
  }
}
