package dev.tranche.nodeplugin.config;

import dev.tranche.process.settings.ConfigErrors;
import java.io.StringReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Locale;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.AbstractConstruct;
import org.yaml.snakeyaml.constructor.Construct;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeId;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.Tag;
import org.yaml.snakeyaml.representer.Representer;
import org.yaml.snakeyaml.resolver.Resolver;

/**
 * Reads the first document of a YAML text as Go's YAML library does, which NVIDIA's plugin and Helm
 * use. Unlike SnakeYAML it reads {@code y} as true, {@code 0o10} as 8, {@code 1:30} and dates as
 * texts, and tabs between tokens as spaces. A number without a fraction is a whole number, as in
 * the JSON that NVIDIA's plugin makes of a config.
 */
final class GoYaml extends SafeConstructor {
  private static final int ALIASES_MAX = 1_000;

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

  /** Reads a scalar by its text. */
  private static final class Scalar extends AbstractConstruct {
    private final Function<String, Object> read;

    Scalar(Function<String, Object> read) {
      this.read = read;
    }

    @Override
    public Object construct(Node node) {
      try {
        return read.apply(((ScalarNode) node).getValue());
      } catch (IllegalArgumentException | ClassCastException wrong) {
        throw new YAMLException("the value%s is no %s".formatted(line(node), node.getTag()));
      }
    }
  }

  private static final Construct TEXT = new Scalar(text -> text);

  private final ConfigErrors findings;

  private GoYaml(LoaderOptions limits, ConfigErrors findings) {
    super(limits);
    this.findings = findings;
    yamlConstructors.clear();
    yamlConstructors.put(Tag.NULL, new ConstructYamlNull());
    yamlConstructors.put(Tag.MAP, new ConstructYamlMap());
    yamlConstructors.put(Tag.SEQ, new ConstructYamlSeq());
    yamlConstructors.put(Tag.BOOL, new Scalar(text -> TRUE.matcher(text).matches()));
    yamlConstructors.put(Tag.INT, new Scalar(GoYaml::number));
    yamlConstructors.put(Tag.FLOAT, new Scalar(GoYaml::number));
  }

  /** Of tags that it does not know, Go takes the text. */
  @Override
  protected Construct getConstructor(Node node) {
    if (node.isTwoStepsConstruction()) {
      throw new YAMLException("an alias is within its own anchor" + line(node));
    }
    return yamlConstructors.getOrDefault(node.getTag(), TEXT);
  }

  /**
   * @return maps, lists and scalars; null if there is none
   * @throws YAMLException if the text is not YAML
   */
  static @Nullable Object read(String text, ConfigErrors findings) {
    var limits = new LoaderOptions();
    limits.setMaxAliasesForCollections(ALIASES_MAX);
    // So that processDuplicateKeys is asked.
    limits.setAllowDuplicateKeys(false);
    var dumper = new DumperOptions();
    var yaml =
        new Yaml(
            new GoYaml(limits, findings), new Representer(dumper), dumper, limits, new Words());
    String spaced = SPACE.matcher(text).replaceAll(tabs -> tabs.group().replace('\t', ' '));
    Iterator<Object> documents = yaml.loadAll(new StringReader(spaced)).iterator();
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

  @Override
  protected void processDuplicateKeys(MappingNode node, boolean forceStringKeys) {
    Set<String> keys = new HashSet<>();
    for (NodeTuple entry : node.getValue()) {
      if (entry.getKeyNode() instanceof ScalarNode key && !keys.add(key.getValue())) {
        findings.warning(
            "the key \"%s\" occurs twice%s; the last value is used, as by NVIDIA's plugin"
                .formatted(key.getValue(), line(key)));
      }
    }
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
