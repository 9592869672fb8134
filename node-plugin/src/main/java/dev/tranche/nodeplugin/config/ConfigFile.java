package dev.tranche.nodeplugin.config;

import dev.tranche.process.settings.ConfigErrors;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.DuplicateKeyException;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;

/**
 * One config file of NVIDIA's device plugin, {@code version: v1}: its flags as text by dotted key,
 * its resource names and its sharing.
 */
public record ConfigFile(Map<String, String> values, ResourceNames resources, Sharing sharing) {
  public static final ConfigFile EMPTY =
      new ConfigFile(Map.of(), ResourceNames.DEFAULT, Sharing.NONE);

  private static final int SIZE_MAX_CHARS = 1 << 20;
  // Far more than any config has. YAML aliases can multiply values, and can refer to a value that
  // contains them.
  private static final int NODES_MAX = 100_000;
  private static final int DEPTH_MAX = 50;
  private static final Set<String> TOP_KEYS =
      Set.of("version", "flags", "sharing", "resources", "imex");

  public ConfigFile {
    values = Map.copyOf(values);
  }

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
    ResourceNames resources = ResourcesSection.parse(map.get("resources"), findings);
    return new ConfigFile(
        values, resources, SharingSection.parse(map.get("sharing"), resources, findings));
  }

  private static @Nullable Object load(String text, ConfigErrors findings) {
    try {
      Object root = firstDocument(text, findings);
      if (nodes(root, 0, 0) > NODES_MAX) {
        findings.error(
            "the config has an alias within its own anchor, or aliases that make more than "
                + NODES_MAX
                + " values of it; write out what they stand for");
        return null;
      }
      return root;
    } catch (YAMLException e) {
      findings.error("the config is not YAML: " + oneLine(e));
      return null;
    }
  }

  // As NVIDIA's parser reads it. Of a key that stands twice in a map, the last value counts.
  private static @Nullable Object firstDocument(String text, ConfigErrors findings) {
    try {
      return firstDocument(text, false, findings);
    } catch (DuplicateKeyException twice) {
      findings.warning(
          "a key stands twice, and the last value counts, as for NVIDIA's plugin: "
              + oneLine(twice));
      return firstDocument(text, true, findings);
    }
  }

  private static @Nullable Object firstDocument(
      String text, boolean duplicateKeys, ConfigErrors findings) {
    LoaderOptions limits = new LoaderOptions();
    limits.setCodePointLimit(SIZE_MAX_CHARS);
    limits.setAllowDuplicateKeys(duplicateKeys);
    Iterator<Object> documents = new Yaml(new SafeConstructor(limits)).loadAll(text).iterator();
    Object first = documents.hasNext() ? documents.next() : null;
    if (hasMore(documents)) {
      findings.warning(
          "the config has a second YAML document, which is ignored, as by NVIDIA's plugin");
    }
    return first;
  }

  private static boolean hasMore(Iterator<Object> documents) {
    try {
      return documents.hasNext() && documents.next() != null;
    } catch (YAMLException unreadable) {
      return true;
    }
  }

  private static String oneLine(YAMLException e) {
    return String.valueOf(e.getMessage()).replaceAll("\\s+", " ");
  }

  /**
   * Counts the values with aliases resolved. Stops soon after the limit, which a cycle exceeds too.
   */
  private static int nodes(@Nullable Object node, int depth, int before) {
    int counted = depth > DEPTH_MAX ? NODES_MAX + 1 : before + 1;
    List<?> children =
        switch (node) {
          case List<?> list -> list;
          case Map<?, ?> map ->
              Stream.concat(map.keySet().stream(), map.values().stream()).toList();
          case null, default -> List.of();
        };
    for (Object child : children) {
      if (counted > NODES_MAX) {
        return counted;
      }
      counted = nodes(child, depth + 1, counted);
    }
    return counted;
  }

  private static void checkTopKeys(Map<?, ?> map, ConfigErrors findings) {
    Object version = map.get("version");
    if (version != null && !version.equals("v1")) {
      findings.error("version must be v1, not " + version);
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
    } else if (FileKeys.isSection(at)) {
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
      return list.stream().map(String::valueOf).collect(Collectors.joining(","));
    }
    if (node instanceof Map) {
      findings.error(at + " is a single value, not a map");
      return "";
    }
    return String.valueOf(node);
  }
}
