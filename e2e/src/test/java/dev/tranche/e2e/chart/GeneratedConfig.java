package dev.tranche.e2e.chart;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A random config file of NVIDIA's device plugin: often right, often wrong in one place. */
final class GeneratedConfig {
  private static final String[] BOOLEANS = {"true", "false", "yes", "off", "True"};
  private static final String[] WRONG = {
    "null",
    "~",
    "''",
    "{}",
    "[]",
    "0",
    "false",
    "y",
    "'true'",
    "1",
    "1:30",
    ".inf",
    "2026-11-26",
    "[[x]]",
    "{a: b}",
    "x",
    "!!str 1",
    "!mine true"
  };
  private static final String[] REPLICAS = {"2", "4", "10", "48"};
  private static final String[] ODD_REPLICAS = {
    "1",
    "0",
    "-1",
    "10000",
    "10001",
    "16384",
    "99999999999999999999",
    "'4'",
    "4.0",
    "4.5",
    "1e1",
    "0x10",
    "0o10",
    "010",
    "0b100",
    "1_0",
    "+4",
    "!!int '4'",
    "!!float 4",
    "!!str 4"
  };
  private static final String[] NAMES = {
    "nvidia.com/gpu", "gpu", "nvidia.com/mig-1g.5gb", "mig-3g.20gb", "\"nvidia.com/gpu\""
  };
  private static final String[] ODD_NAMES = {
    "nvidia.com/t4", "t4", "GPU", "nvidia.com/mig-1G", "mig-1g.5gb+me", "5", "amd.com/gpu", "''"
  };
  private static final String[] DEVICES = {
    "all",
    "2",
    "[0, 1]",
    "['0:1', 1:0]",
    "[]",
    "[GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c]",
    "[MIG-GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16c/0/0]"
  };
  private static final String[] ODD_DEVICES = {
    "0",
    "-1",
    "some",
    "[x]",
    "[0, 0]",
    "[10000]",
    "[1.0]",
    "2.0",
    "3000000000",
    "{names: [a]}",
    "[true]"
  };

  private sealed interface Node {}

  /**
   * @param text as YAML has it
   */
  private record Scalar(String text) implements Node {}

  private record Items(List<Node> nodes) implements Node {}

  private record Fields(List<Field> fields) implements Node {}

  private record Field(String key, Node value) {}

  private final Random random;
  // How many places in a thousand are wrong.
  private final int wrong;
  private final Map<Node, String> anchors = new HashMap<>();

  private GeneratedConfig(Random random) {
    this.random = random;
    this.wrong = random.nextBoolean() ? 0 : 60;
  }

  static String text(Random random) {
    return new GeneratedConfig(random).file();
  }

  private String file() {
    String text =
        pick("", "", "", "---\n", "# mine\n", "\n") + (chance(2) ? block(root(), 0) : line(root()));
    String ending = pick("", "", "", "\n---\n", "\n...\n", "\n---\nversion: v2\n", "\n# end", "\n");
    return chance(10) ? (text + ending).replace("\n", "\r\n") : text + ending;
  }

  private Node root() {
    return fields(
        field(3, "version", () -> odd(new String[] {"v1", "\"v1\""}, "v2", "1", "1.0", "''", "V1")),
        field(2, "flags", this::flags),
        field(4, "imex", this::imex),
        field(5, "resources", this::resources),
        field(10, "sharing", this::sharing),
        unknown());
  }

  private Node flags() {
    return fields(
        field(
            3,
            "migStrategy",
            () -> odd(new String[] {"none", "single", "mixed"}, "Mixed", "none,single", "[none]")),
        field(3, "failOnInitError", () -> odd(BOOLEANS, "[true]")),
        field(4, "mpsRoot", () -> odd(new String[] {"/run/mps", "\"/mps\""}, "5", "[a]")),
        field(4, "nvidiaDriverRoot", () -> odd(new String[] {"/", "/run/nvidia/driver"}, "1.0")),
        field(6, "nvidiaDevRoot", () -> odd(new String[] {"/"}, "{a: b}")),
        field(4, "gdrcopyEnabled", () -> odd(BOOLEANS, "maybe")),
        field(6, "gdsEnabled", () -> odd(BOOLEANS, "TRUE")),
        field(6, "mofedEnabled", () -> odd(BOOLEANS, "n")),
        field(6, "useNodeFeatureAPI", () -> odd(BOOLEANS, "1")),
        field(5, "deviceDiscoveryStrategy", () -> odd(new String[] {"auto", "nvml"}, "tegra")),
        field(3, "plugin", this::plugin),
        field(6, "gfd", this::gfd),
        unknown());
  }

  private Node plugin() {
    return fields(
        field(3, "passDeviceSpecs", () -> odd(BOOLEANS, "'1'")),
        field(
            2,
            "deviceListStrategy",
            () ->
                odd(
                    new String[] {"envvar", "[envvar, cdi-cri]", "[volume-mounts]"},
                    "envvar,cdi-cri",
                    "cdi",
                    "[cdi]",
                    "[[envvar]]")),
        field(3, "deviceIDStrategy", () -> odd(new String[] {"uuid", "index"}, "uuid,index")),
        field(5, "cdiAnnotationPrefix", () -> odd(new String[] {"cdi.k8s.io/"}, "[a]")),
        field(5, "nvidiaCTKPath", () -> odd(new String[] {"/usr/bin/nvidia-ctk"}, "{}")),
        field(5, "containerDriverRoot", () -> odd(new String[] {"/driver-root"}, "[]")),
        unknown());
  }

  private Node gfd() {
    return fields(
        field(2, "oneshot", () -> odd(BOOLEANS, "x")),
        field(2, "sleepInterval", () -> odd(new String[] {"60s", "0"}, "x")),
        unknown());
  }

  private Node imex() {
    return fields(
        field(2, "channelIDs", () -> odd(new String[] {"[0]", "[]"}, "[0.0]", "[1]", "0", "['0']")),
        field(2, "required", () -> odd(BOOLEANS, "y")),
        unknown());
  }

  private Node resources() {
    return fields(
        field(2, "gpus", () -> items(this::rule)),
        field(3, "mig", () -> items(this::rule)),
        unknown());
  }

  private Node rule() {
    return fields(
        field(12, "pattern", () -> odd(new String[] {"'*A100*'", "Tesla T4", "'*'"}, "4")),
        field(12, "name", () -> odd(new String[] {"t4", "nvidia.com/a100"}, "Slice", "5")),
        unknown());
  }

  private Node sharing() {
    return fields(
        field(6, "timeSlicing", this::strategy), field(2, "mps", this::strategy), unknown());
  }

  private Node strategy() {
    return fields(
        field(3, "renameByDefault", () -> odd(BOOLEANS, "please")),
        field(3, "failRequestsGreaterThanOne", () -> odd(BOOLEANS, "0")),
        field(40, "resources", () -> items(this::entry)),
        unknown());
  }

  private Node entry() {
    return fields(
        field(40, "name", () -> odd(NAMES, ODD_NAMES)),
        field(40, "replicas", () -> odd(REPLICAS, ODD_REPLICAS)),
        field(1, "rename", () -> odd(new String[] {"gpu.half", "nvidia.com/gpu-0"}, "A_B", "7")),
        field(1, "devices", () -> odd(DEVICES, ODD_DEVICES)),
        unknown());
  }

  private interface Maker {
    Node make();
  }

  private Node items(Maker maker) {
    List<Node> nodes = new ArrayList<>();
    for (int i = chance(25) ? 1 : 0; i < 2; i += random.nextInt(1, 3)) {
      nodes.add(nodes.isEmpty() || !chance(6) ? maker.make() : nodes.getFirst());
    }
    return new Items(nodes);
  }

  @SafeVarargs
  private final Node fields(Stream<Field>... candidates) {
    List<Field> fields = Stream.of(candidates).flatMap(f -> f).collect(Collectors.toList());
    if (isWrong() && !fields.isEmpty()) {
      Field twice = fields.get(random.nextInt(fields.size()));
      fields.add(new Field(twice.key(), chance(2) ? twice.value() : new Scalar(pick(WRONG))));
    }
    return new Fields(fields);
  }

  /** Present more often the larger the weight. */
  private Stream<Field> field(int weight, String key, Maker maker) {
    if ((random.nextInt(weight + 3) < 3 && weight < 40) || isWrong()) {
      return weight < 10 && chance(2) ? Stream.of() : present(key, maker);
    }
    return weight >= 10 ? present(key, maker) : Stream.of();
  }

  private Stream<Field> present(String key, Maker maker) {
    String written = isWrong() ? misspelt(key) : key;
    return Stream.of(new Field(written, isWrong() ? new Scalar(pick(WRONG)) : maker.make()));
  }

  private String misspelt(String key) {
    return switch (random.nextInt(3)) {
      case 0 -> key.substring(0, 1).toUpperCase(Locale.ROOT) + key.substring(1);
      case 1 -> key.toLowerCase(Locale.ROOT);
      default -> '"' + key + '"';
    };
  }

  private Stream<Field> unknown() {
    return isWrong()
        ? Stream.of(new Field(pick("id", "replicas", "1", "true", "sharing"), new Scalar("4")))
        : Stream.of();
  }

  private Node odd(String[] right, String... odd) {
    return new Scalar(isWrong() || (wrong > 0 && chance(8)) ? pick(odd) : pick(right));
  }

  private boolean isWrong() {
    return random.nextInt(1_000) < wrong;
  }

  private boolean chance(int one) {
    return random.nextInt(one) == 0;
  }

  private String pick(String... values) {
    return values[random.nextInt(values.length)];
  }

  /** A node that was written before, as its alias. */
  private @Nullable String alias(Node node) {
    return anchors.containsKey(node) && !chance(4) ? "*" + anchors.get(node) : null;
  }

  private String anchor(Node node) {
    if (anchors.containsKey(node) || !chance(8)) {
      return "";
    }
    String name = "a" + anchors.size();
    anchors.put(node, name);
    return "&" + name + " ";
  }

  private String line(Node node) {
    String alias = alias(node);
    if (alias != null) {
      return alias + " ";
    }
    return switch (node) {
      case Scalar scalar -> (scalar.text().startsWith("!") ? "" : anchor(node)) + scalar.text();
      case Items items ->
          items.nodes().stream()
              .map(this::line)
              .collect(Collectors.joining("," + gap(), "[", "]"))
              .transform(text -> anchored(node, text));
      case Fields fields ->
          fields.fields().stream()
              .map(field -> field.key() + ":" + gap() + line(field.value()))
              .collect(Collectors.joining("," + gap(), "{", "}"))
              .transform(text -> anchored(node, text));
    };
  }

  private String anchored(Node node, String text) {
    return anchor(node) + text;
  }

  private String block(Node node, int depth) {
    String indent = "  ".repeat(depth);
    StringBuilder text = new StringBuilder();
    switch (node) {
      case Scalar scalar -> text.append(indent).append(scalar.text()).append('\n');
      case Items items -> {
        for (Node item : items.nodes()) {
          text.append(indent).append("- ").append(line(item)).append(comment()).append('\n');
        }
      }
      case Fields fields -> {
        for (Field field : fields.fields()) {
          text.append(indent).append(field.key()).append(':').append(below(field.value(), depth));
        }
      }
    }
    return text.toString();
  }

  private String below(Node value, int depth) {
    boolean inline =
        switch (value) {
          case Scalar ignored -> true;
          case Items items -> items.nodes().isEmpty();
          case Fields fields -> fields.fields().isEmpty();
        };
    return inline || chance(4)
        ? gap() + line(value) + comment() + "\n"
        : comment() + "\n" + block(value, depth + 1);
  }

  private String gap() {
    return chance(30) ? pick("\t", " \t", "  ") : " ";
  }

  private String comment() {
    return chance(12) ? " # why" : "";
  }
}
