package dev.tranche.nodeplugin.config;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.tranche.process.settings.ConfigErrors;
import java.io.StringReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeId;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;
import org.yaml.snakeyaml.nodes.Tag;
import org.yaml.snakeyaml.representer.Representer;
import org.yaml.snakeyaml.resolver.Resolver;

/**
 * Reads the first document of a YAML text to the values that Go's YAML library makes of it, which
 * NVIDIA's plugin and Helm use. Unlike SnakeYAML it reads {@code y} as true, {@code 0o10} as 8,
 * {@code 1:30} and dates as texts, and tabs between tokens as spaces. A number without a fraction
 * is a whole number, as in the JSON that NVIDIA's plugin makes of a config.
 */
final class GoYaml {
  private static final int SIZE_MAX_CHARS = 1 << 20;
  // Far more than any config has. YAML aliases can multiply values, and can refer to a value that
  // contains them.
  private static final int VALUES_MAX = 100_000;
  private static final int DEPTH_MAX = 50;

  // Between the tokens of a flow collection, and after the colon of a key.
  private static final Pattern SPACE =
      Pattern.compile("(?<=[,\\[{])\\s+|\\s+(?=[,\\]}])|(?<=:)[ \t]+");
  private static final Pattern TRUE = Pattern.compile("y|Y|(?i:yes|true|on)");
  private static final Pattern BOOLEAN = Pattern.compile("y|Y|n|N|(?i:yes|true|on|no|false|off)");
  private static final Pattern NULL_WORD = Pattern.compile("|~|null|Null|NULL");
  // A number that begins with 0 is octal.
  private static final Pattern WHOLE =
      Pattern.compile("[-+]?(0|[1-9][0-9_]*|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|0[bB][01_]+)");
  private static final Pattern DECIMAL =
      Pattern.compile("([-+]?[0-9][0-9_]*(\\.[0-9_]*)?|[-+]?\\.[0-9]+)([eE][-+]?[0-9]+)?");

  private static final class Words extends Resolver {
    @Override
    public Tag resolve(NodeId kind, String text, boolean implicit) {
      if (kind != NodeId.scalar || !implicit) {
        return super.resolve(kind, text, false);
      }
      if (BOOLEAN.matcher(text).matches()) {
        return Tag.BOOL;
      }
      if (NULL_WORD.matcher(text).matches()) {
        return Tag.NULL;
      }
      if (WHOLE.matcher(text).matches()) {
        return Tag.INT;
      }
      return DECIMAL.matcher(text).matches() ? Tag.FLOAT : text.equals("<<") ? Tag.MERGE : Tag.STR;
    }
  }

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
    String spaced = SPACE.matcher(text).replaceAll(tabs -> tabs.group().replace('\t', ' '));
    Iterator<Node> documents = parser().composeAll(new StringReader(spaced)).iterator();
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
        new SafeConstructor(limits), new Representer(dumper), dumper, limits, new Words());
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
      return scalar(scalar);
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
      if (entry.getKeyNode().getTag().equals(Tag.MERGE)) {
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

  /** Of tags that it does not know, Go takes the text. */
  private static @Nullable Object scalar(ScalarNode node) {
    String text = node.getValue();
    Tag tag = node.getTag();
    try {
      if (tag.equals(Tag.NULL) && NULL_WORD.matcher(text).matches()) {
        return null;
      }
      if (tag.equals(Tag.BOOL) && BOOLEAN.matcher(text).matches()) {
        return TRUE.matcher(text).matches();
      }
      if (tag.equals(Tag.INT) || tag.equals(Tag.FLOAT)) {
        return number(text);
      }
      if (tag.equals(Tag.BINARY)) {
        return new String(Base64.getMimeDecoder().decode(text), UTF_8);
      }
    } catch (IllegalArgumentException wrong) {
      throw mismatch(node);
    }
    if (tag.equals(Tag.NULL) || tag.equals(Tag.BOOL)) {
      throw mismatch(node);
    }
    return text;
  }

  private static YAMLException mismatch(ScalarNode node) {
    return new YAMLException(
        "\"%s\"%s is no %s"
            .formatted(
                node.getValue(),
                line(node),
                node.getTag().getValue().substring(Tag.PREFIX.length())));
  }

  /**
   * Returns an Integer or a BigInteger, or a Double for a fraction.
   *
   * @throws NumberFormatException if it is no number
   */
  private static Number number(String text) {
    String plain = text.replace("_", "").replace("+", "").toLowerCase(Locale.ROOT);
    if (WHOLE.matcher(text).matches()) {
      boolean octal = plain.matches("-?0o?[0-7]+");
      int radix = plain.contains("x") ? 16 : plain.contains("b") ? 2 : octal ? 8 : 10;
      return smallest(new BigInteger(plain.replaceFirst("0[xbo]", ""), radix));
    }
    double number = Double.parseDouble(plain);
    // From 1e21 on, Go's JSON has an exponent, which is no whole number to it.
    boolean whole = number == Math.rint(number) && Math.abs(number) < 1e21;
    return whole ? smallest(new BigDecimal(number).toBigIntegerExact()) : (Number) number;
  }

  private static Number smallest(BigInteger number) {
    return number.bitLength() < Integer.SIZE ? (Number) number.intValueExact() : number;
  }

  private static String line(Node node) {
    return " in line " + (node.getStartMark().getLine() + 1);
  }
}
