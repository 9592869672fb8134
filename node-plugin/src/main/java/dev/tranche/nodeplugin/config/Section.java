package dev.tranche.nodeplugin.config;

import dev.tranche.process.settings.ConfigErrors;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A map of the config file.
 *
 * @param at its place, as messages name it
 */
record Section(String at, Map<?, ?> map, ConfigErrors findings) {
  /** Returns the section of a node that is a map or absent; anything else is reported. */
  static Section of(String at, @Nullable Object node, ConfigErrors findings) {
    if (node != null && !(node instanceof Map)) {
      findings.error(at + " must be a map, not " + node);
    }
    return new Section(at, node instanceof Map<?, ?> map ? map : Map.of(), findings);
  }

  /** Reports an error at or below its place. */
  void error(String suffix) {
    findings.error(at + suffix);
  }

  void invalid(String suffix, @Nullable Object value, String allowed) {
    findings.invalid(at + suffix, value, allowed);
  }

  @Nullable Object get(String key) {
    return map.get(key);
  }

  Section section(String key) {
    return of(at + "." + key, map.get(key), findings);
  }

  /** The maps of a list. */
  List<Section> list(String key, String shape) {
    Object node = map.get(key);
    if (node != null && !(node instanceof List)) {
      error("." + key + " is a list of " + shape);
    }
    List<?> items = node instanceof List<?> list ? list : List.of();
    return IntStream.range(0, items.size())
        .mapToObj(i -> of(at + "." + key + "[" + i + "]", items.get(i), findings))
        .toList();
  }

  boolean isTrue(String key, boolean absent) {
    Object node = map.get(key);
    if (node != null && !(node instanceof Boolean)) {
      invalid("." + key, node, "true or false");
    }
    return node instanceof Boolean given ? given : absent;
  }

  void checkKeys(Set<String> keys) {
    for (Object key : map.keySet()) {
      if (!keys.contains(String.valueOf(key))) {
        FileKeys.unknown(at + "." + key, findings);
      }
    }
  }
}
