package dev.tranche.nodeplugin.config;

import dev.tranche.process.settings.ConfigErrors;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;
import org.yaml.snakeyaml.representer.Representer;

/**
 * Reads the first document of a YAML text to the values that Go's YAML library makes of it, which
 * NVIDIA's plugin and Helm use. It differs from SnakeYAML in words and numbers, merge keys, double
 * keys and unknown tags.
 */
final class GoYaml {
  private static final int SIZE_MAX_CHARS = 1 << 20;
  // Far more than any config has. YAML aliases can multiply values, and can refer to a value that
  // contains them.
  private static final int VALUES_MAX = 100_000;
  private static final int DEPTH_MAX = 50;

  private final ConfigErrors findings;
  private final Set<Node> open = Collections.newSetFromMap(new IdentityHashMap<>());
  private int values;

  private GoYaml(ConfigErrors findings) {
    this.findings = findings;
  }

  /**
   * @return maps, lists and scalars; null if there is none
   * @throws YAMLException if the text is not YAML
   */
  static @Nullable Object read(String text, ConfigErrors findings) {
    Iterator<Node> documents =
        parser().composeAll(new StringReader(GoTabs.toSpaces(text))).iterator();
    Node first = documents.hasNext() ? documents.next() : null;
    Object value = first == null ? null : new GoYaml(findings).value(first);
    if (hasMore(documents)) {
      findings.warning(
          "the config has a second YAML document, which is ignored, as by NVIDIA's plugin");
    }
    return value;
  }

  private static Yaml parser() {
    LoaderOptions limits = new LoaderOptions();
    limits.setCodePointLimit(SIZE_MAX_CHARS);
    limits.setNestingDepthLimit(DEPTH_MAX);
    // What they stand for is counted below.
    limits.setMaxAliasesForCollections(VALUES_MAX);
    DumperOptions dumper = new DumperOptions();
    return new Yaml(
        new SafeConstructor(limits), new Representer(dumper), dumper, limits, new GoScalars());
  }

  private static boolean hasMore(Iterator<Node> documents) {
    try {
      return documents.hasNext()
          && !(documents.next() instanceof ScalarNode scalar && scalar.getValue().isEmpty());
    } catch (YAMLException unreadable) {
      return true;
    }
  }

  private @Nullable Object value(Node node) {
    if (++values > VALUES_MAX) {
      throw new YAMLException(
          "aliases expand it to more than %d values; replace them by their values"
              .formatted(VALUES_MAX));
    }
    if (node instanceof ScalarNode scalar) {
      return GoScalars.value(scalar);
    }
    if (!open.add(node)) {
      throw new YAMLException(
          "an alias is within its own anchor%s; replace it by its value".formatted(line(node)));
    }
    Object value =
        node instanceof MappingNode mapping
            ? map(mapping, new LinkedHashMap<>())
            : list((SequenceNode) node);
    open.remove(node);
    return value;
  }

  private List<@Nullable Object> list(SequenceNode node) {
    List<@Nullable Object> list = new ArrayList<>();
    for (Node item : node.getValue()) {
      list.add(value(item));
    }
    return list;
  }

  /** In the order of the text: a later value replaces an earlier one, also from a merge key. */
  private Map<Object, @Nullable Object> map(
      MappingNode node, Map<Object, @Nullable Object> result) {
    Set<Object> keys = new HashSet<>();
    for (NodeTuple entry : node.getValue()) {
      if (GoScalars.isMergeKey(entry.getKeyNode())) {
        merge(entry.getValueNode(), result);
        continue;
      }
      Object key = value(entry.getKeyNode());
      if (key == null || key instanceof List || key instanceof Map) {
        throw new YAMLException("a key is not a string" + line(entry.getKeyNode()));
      }
      if (!keys.add(key)) {
        findings.warning(
            "the key \"%s\" occurs twice%s; the last value is used, as by NVIDIA's plugin"
                .formatted(key, line(entry.getKeyNode())));
      }
      result.put(key, value(entry.getValueNode()));
    }
    return result;
  }

  private void merge(Node node, Map<Object, @Nullable Object> result) {
    List<Node> sources =
        node instanceof SequenceNode list ? list.getValue().reversed() : List.of(node);
    for (Node source : sources) {
      if (!(source instanceof MappingNode mapping) || !open.add(mapping)) {
        throw new YAMLException("a merge key needs a map" + line(source));
      }
      map(mapping, result);
      open.remove(mapping);
    }
  }

  private static String line(Node node) {
    return " in line " + (node.getStartMark().getLine() + 1);
  }
}
