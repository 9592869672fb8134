package dev.tranche.e2e;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The rules of the house that a compiler does not know. */
class TidyTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  /** Which of our packages a module may import. */
  private static final Map<String, Set<String>> ARROWS =
      Map.of(
          "api", Set.of("api"),
          "process", Set.of("api", "process"),
          "webhook", Set.of("api", "process", "webhook"),
          "extender", Set.of("api", "process", "extender"),
          "node-plugin", Set.of("api", "process", "nodeplugin"),
          "e2e/simulate", Set.of("api", "process", "extender", "nodeplugin", "simulate"),
          // The soak checks what must hold in every cluster, and recorders play the simulator's
          // scripts.
          "e2e/bench", Set.of("api", "process", "extender", "simulate", "e2e"),
          "e2e/verify", Set.of("api", "process", "e2e"),
          "e2e", Set.of("api", "process", "e2e"));

  /**
   * They hold the chart's rules against those of the node plugin, and admitted pods against what
   * the extender reads.
   */
  private static final Set<String> RULES_OF_BOTH =
      Set.of(
          "webhook/src/test/java/dev/tranche/webhook/ShareTruthTest.java",
          "e2e/src/test/java/dev/tranche/e2e/chart/ConfigVerdictsTest.java",
          "e2e/src/test/java/dev/tranche/e2e/chart/NvidiaConfigsIT.java",
          "e2e/src/test/java/dev/tranche/e2e/chart/ValuesVerdictsTest.java");

  /** Code that takes time, NVML and the cluster as parameters. */
  private static final List<Pattern> PURE =
      Stream.of(
              "extender/core/src/main/.*",
              "webhook/src/main/.*/(mutate|request|pod)/.*",
              "node-plugin/src/main/.*/kubelet/(PreferredAllocation|Allocation)\\.java",
              "node-plugin/src/main/.*/config/.*",
              "process/src/main/.*/settings/.*",
              "api/src/main/java/dev/tranche/api/.*")
          .map(Pattern::compile)
          .toList();

  private static final Pattern IMPURE =
      Pattern.compile("^import (static )?(io\\.vertx|io\\.fabric8|com\\.sun\\.jna)\\b.*");

  private static final Pattern OUR_IMPORT =
      Pattern.compile("^import (?:static )?dev\\.tranche\\.([a-z0-9]+)\\..*");

  private static final Pattern PACKAGE_IMPORT =
      Pattern.compile("^import (?:static )?(dev\\.tranche[a-z0-9.]*)\\.[A-Z].*");

  /** Spelt in halves, since this file is searched as well. */
  private static final Pattern LEFTOVER =
      Pattern.compile("\\b(TO" + "DO|FIX" + "ME|XX" + "X|HA" + "CK)\\b");

  /**
   * Figures of speech that a Kubernetes engineer would not write. Each is spelt so that the plain
   * uses of its words pass.
   */
  private static final Pattern FIGURE_OF_SPEECH =
      Pattern.compile(
          String.join(
              "|",
              "\\bholes?\\b",
              "\\bscattered\\b",
              "\\bcuts? (?:a|the|its|into)\\b",
              "\\bcuts none\\b",
              "'s words?\\b",
              "\\bask(?:s|ed|ing)? for\\b",
              "\\basks? of\\b",
              "\\bspeaks? of\\b",
              "\\bstands? without\\b",
              "\\bof late\\b",
              "\\btold\\b",
              "\\btried again\\b",
              "\\banew\\b",
              "\\b(?:takes?|took|taken) (?:it|that|them|this) away\\b",
              "\\bland on\\b",
              "\\b(?:has|have|no|with) room\\b",
              "\\broom for\\b",
              "\\breach(?:es|ed)? for\\b",
              "\\bwritten for you\\b",
              "\\bit is kept o(?:n|ff)\\b",
              "\\bkept off\\b",
              "\\bever less\\b",
              "\\bpast (?:the webhook|it)\\b",
              "\\bgrants alone\\b",
              "\\bgo(?:es)? by\\b",
              "\\b(?:leaves?|left) (?:\\w+ )?alone\\b"));

  /** Files whose every line may be read by a user; of code, only the string literals are. */
  private static final Pattern USERS_READ =
      Pattern.compile(
          "charts/tranche/.*|extender/readapi/src/main/web/src/.*|deploy/kubectl/.*|[A-Z]+\\.md|docs/.*\\.md");

  /** What was written at a time stays as it was. */
  private static final Set<String> HISTORY =
      Set.of("CHANGELOG.md", "BENCHMARKS.md", "docs/architecture/benchmark-log.md");

  private static final Pattern LITERAL =
      Pattern.compile(
          "//.*|/\\*[\\s\\S]*?\\*/|\"\"\"[\\s\\S]*?\"\"\"|\"[^\"\\\\\\n"
              + "]*+(?:\\\\.[^\"\\\\\\n"
              + "]*+)*+\"|'(?:\\\\.|[^'\\\\])'");

  private static final Pattern CONTINUED = Pattern.compile("\"\\s*\\n\\s*\\+ \"");

  /** The ratchet: no file grows beyond the longest one of today, and no method. */
  private static final int JAVA_LINES_MAX = 598;

  private static final int METHOD_LINES_MAX = 70;

  /** The ratchet of everything together. */
  private static final Path FIGURES = Path.of("src/test/resources/weight.txt");

  private static final Path WEIGHED = Path.of("target/weight.txt");

  /** As the formatter writes it: the head of a member, and the brace that ends one. */
  private static final Pattern MEMBER = Pattern.compile("( {2}| {4})[\\w@<].*");

  private static final Pattern MEMBER_END = Pattern.compile("( {2}| {4})\\}");

  private static final Pattern TYPE = Pattern.compile(".*\\b(class|record|interface|enum) .*");

  /** Of a class in a file of its own: what others may see, and the name. */
  private static final Pattern TOP_TYPE =
      Pattern.compile(
          "(?m)^(public )?(?:final |abstract |sealed |non-sealed )*(?:class|interface|enum|record)"
              + " (\\w+)");

  private static final Pattern FIELD =
      Pattern.compile(
          "(?m)^  (?:public |private |protected |static |final |volatile |@Nullable"
              + " )*([A-Z][\\w.<>?, ]*) ([a-z]\\w*)(?: =.*|;)$");

  private static final Map<String, String> TEXTS = new TreeMap<>();

  @BeforeAll
  static void readEveryTrackedFile() throws Exception {
    for (String name :
        Shell.output("cd .. && git ls-files -co --exclude-standard -z").split("\0")) {
      Path file = ROOT.resolve(name);
      if (Files.isRegularFile(file) && !name.endsWith(".png")) {
        TEXTS.put(name, Files.readString(file));
      }
    }
    assertThat(TEXTS).containsKey("pom.xml");
  }

  private static String module(String name) {
    return Stream.of("e2e/simulate", "e2e/verify", "e2e/bench")
        .filter(nested -> name.startsWith(nested + "/"))
        .findFirst()
        .orElseGet(() -> name.split("/")[0]);
  }

  @Test
  void modules_importOnlyWhatTheirArrowAllows() {
    assertThat(
            javaLines(
                (name, line) -> {
                  var imported = OUR_IMPORT.matcher(line);
                  Set<String> allowed = ARROWS.getOrDefault(module(name), Set.of());
                  return imported.matches()
                      && !allowed.contains(imported.group(1))
                      && !RULES_OF_BOTH.contains(name);
                }))
        .isEmpty();
  }

  @Test
  void pureCores_importNoVertxNoClusterNoNative() {
    assertThat(
            javaLines(
                (name, line) ->
                    PURE.stream().anyMatch(p -> p.matcher(name).matches())
                        && IMPURE.matcher(line).matches()))
        .isEmpty();
  }

  @Test
  void packages_importEachOtherInNoCircle() {
    Map<String, Set<String>> imports = imports("");
    Set<Set<String>> cycles =
        imports.keySet().stream()
            .map(from -> circle(from, imports))
            // Alone is one that imports a nested type of its own.
            .filter(circle -> circle.size() > 1)
            .collect(Collectors.toSet());
    assertThat(cycles).as("package cycles in main code").isEmpty();
  }

  /** What a feature adds is above what every node needs. */
  @Test
  void nodePlugin_hasFewLayers_withFeaturesInTheUpperHalf() {
    Map<String, Set<String>> imports = imports("node-plugin/");
    imports.values().forEach(imported -> imported.retainAll(imports.keySet()));
    Map<String, Integer> layers = new TreeMap<>();
    imports.keySet().forEach(name -> layer(name, imports, layers));
    int top = Collections.max(layers.values());
    assertThat(top).isLessThanOrEqualTo(8);
    for (String feature : List.of("cdi", "events", "limit", "mps", "stream")) {
      assertThat(layers.get("dev.tranche.nodeplugin." + feature))
          .as(feature)
          .isGreaterThan(top / 2);
    }
  }

  /** From 1 on, as many as packages are below it at most. */
  private static int layer(
      String name, Map<String, Set<String>> imports, Map<String, Integer> layers) {
    int below = 0;
    for (String imported : imports.getOrDefault(name, Set.of())) {
      below = imported.equals(name) ? below : Math.max(below, layer(imported, imports, layers));
    }
    layers.put(name, below + 1);
    return below + 1;
  }

  /** By package of main code, in the files that begin so. */
  private static Map<String, Set<String>> imports(String prefix) {
    Map<String, Set<String>> imports = new TreeMap<>();
    TEXTS.forEach(
        (name, text) -> {
          if (name.startsWith(prefix)
              && name.endsWith(".java")
              && name.contains("/src/main/java/")) {
            imports
                .computeIfAbsent(packageOf(name), first -> new TreeSet<>())
                .addAll(importedPackages(text));
          }
        });
    return imports;
  }

  @Test
  void ledger_hasOneWriter() {
    Map<String, String> writers = new TreeMap<>(TEXTS);
    writers.keySet().removeIf(name -> !name.matches("extender/.*/main/.*\\.java"));
    writers.values().removeIf(text -> !text.contains("ledger.apply("));
    assertThat(writers.keySet()).singleElement().asString().endsWith("/SchedulingState.java");
  }

  private static String packageOf(String name) {
    return folder(name).replaceFirst(".*/src/main/java/", "").replace('/', '.');
  }

  private static Set<String> importedPackages(String text) {
    return text.lines()
        .map(PACKAGE_IMPORT::matcher)
        .filter(Matcher::matches)
        .map(found -> found.group(1))
        .collect(Collectors.toSet());
  }

  /** Packages that this one's imports lead to, and that lead back to it. */
  private static Set<String> circle(String from, Map<String, Set<String>> imports) {
    return reachable(from, imports).stream()
        .filter(to -> reachable(to, imports).contains(from))
        .collect(Collectors.toSet());
  }

  /** Itself as well, if its imports lead back to it. */
  private static Set<String> reachable(String from, Map<String, Set<String>> imports) {
    var reached = new TreeSet<String>();
    var open = new ArrayDeque<String>(imports.getOrDefault(from, Set.of()));
    while (!open.isEmpty()) {
      String next = open.pop();
      if (reached.add(next)) {
        open.addAll(imports.getOrDefault(next, Set.of()));
      }
    }
    return reached;
  }

  @Test
  void packages_areNullMarked() {
    Set<String> marked =
        Set.copyOf(
            TEXTS.entrySet().stream()
                .filter(e -> e.getKey().endsWith("/package-info.java"))
                .filter(e -> e.getValue().contains("@NullMarked"))
                .map(e -> folder(e.getKey()))
                .toList());
    assertThat(
            TEXTS.keySet().stream()
                .filter(name -> name.endsWith(".java") && name.contains("/src/main/"))
                .map(TidyTest::folder)
                .distinct())
        .isSubsetOf(marked);
  }

  @Test
  void nothingIsLeftForLater() {
    assertThat(lines((name, line) -> LEFTOVER.matcher(line).find())).isEmpty();
  }

  @Test
  void whatUsersRead_isInPlainWords() {
    assertThat(TEXTS.keySet()).anyMatch(name -> USERS_READ.matcher(name).matches());
    assertThat(
            TEXTS.entrySet().stream()
                .flatMap(
                    e ->
                        userTexts(e.getKey(), e.getValue())
                            .flatMap(
                                text ->
                                    FIGURE_OF_SPEECH
                                        .matcher(text)
                                        .results()
                                        .map(
                                            found ->
                                                "write \"%s\" in other words, in %s: %s"
                                                    .formatted(found.group(), e.getKey(), text)))))
        .isEmpty();
  }

  private static Stream<String> userTexts(String name, String text) {
    if (name.endsWith(".java") && name.contains("/src/main/")) {
      return LITERAL
          .matcher(CONTINUED.matcher(text).replaceAll(""))
          .results()
          .map(found -> found.group())
          .filter(literal -> literal.startsWith("\""));
    }
    return USERS_READ.matcher(name).matches() && !HISTORY.contains(name)
        ? text.lines()
        : Stream.of();
  }

  /** A reader takes a field {@code ledger} for the Ledger. */
  @Test
  void fields_areNotNamedLikeAnotherType() {
    Map<String, Set<String>> places = placesOfTypes();
    assertThat(places).hasSizeGreaterThan(500);
    assertThat(
            TEXTS.entrySet().stream()
                .filter(e -> e.getKey().matches(".*/src/main/java/.*\\.java"))
                .flatMap(
                    e ->
                        FIELD
                            .matcher(e.getValue())
                            .results()
                            .filter(
                                field ->
                                    namesAnother(
                                        field.group(1), field.group(2), e.getKey(), places))
                            .map(field -> e.getKey() + ":" + field.group())))
        .isEmpty();
  }

  /**
   * Returns by name the modules in which each public type can be seen, and the packages of the
   * others. The names of the read API's rows are words of the API, and other types share them.
   */
  private static Map<String, Set<String>> placesOfTypes() {
    var places = new HashMap<String, Set<String>>();
    TEXTS.forEach(
        (name, text) -> {
          if (name.matches(".*/src/main/java/.*\\.java") && !name.contains("/readapi/row/")) {
            TOP_TYPE
                .matcher(text)
                .results()
                .forEach(
                    type ->
                        places
                            .computeIfAbsent(type.group(2), first -> new TreeSet<>())
                            .add(type.group(1) == null ? folder(name) : name.split("/")[0]));
          }
        });
    return places;
  }

  private static boolean namesAnother(
      String type, String field, String file, Map<String, Set<String>> places) {
    String named = Character.toUpperCase(field.charAt(0)) + field.substring(1);
    Set<String> seen = places.getOrDefault(named, Set.of());
    // A BudgetStore may be named budgets, and so may a List of Budgets.
    return !type.contains(named.replaceFirst("s$", ""))
        && type.matches(".*\\b(?:" + String.join("|", places.keySet()) + ")\\b.*")
        && (seen.contains(file.split("/")[0]) || seen.contains(folder(file)));
  }

  @Test
  void noPackageIsADrawer() {
    assertThat(TEXTS.keySet())
        .noneMatch(name -> name.matches(".*/(utils?|common|helpers?|misc)/.*\\.java"));
  }

  @Test
  void everyFileThatIsNotJava_isNamedByAnother() {
    assertThat(
            TEXTS.keySet().stream()
                .filter(name -> name.matches("(deploy|e2e|\\.build|docs|charts)/.*"))
                .filter(
                    name ->
                        !name.matches(
                            ".*\\.(java|diff)|charts/tranche/.*|e2e/last-release/.*|.*/README\\.md"))
                .filter(name -> !namedElsewhere(name)))
        .isEmpty();
  }

  @Test
  void links_leadSomewhere() {
    Pattern link = Pattern.compile("\\]\\(([^)#:]+)(?:#[^)]*)?\\)");
    assertThat(
            TEXTS.entrySet().stream()
                .filter(e -> e.getKey().endsWith(".md"))
                .flatMap(
                    e ->
                        link.matcher(e.getValue())
                            .results()
                            .map(found -> found.group(1))
                            .filter(
                                to -> !Files.exists(ROOT.resolve(e.getKey()).resolveSibling(to)))
                            .map(to -> e.getKey() + " -> " + to)))
        .isEmpty();
  }

  @Test
  void javaFiles_stayShort() {
    assertThat(
            TEXTS.entrySet().stream()
                .filter(e -> e.getKey().endsWith(".java"))
                .filter(e -> e.getValue().lines().count() > JAVA_LINES_MAX)
                .map(Map.Entry::getKey))
        .isEmpty();
  }

  @Test
  void whatThereIsToRead_staysAtItsFigures() throws Exception {
    var weight = new Weight();
    TEXTS.forEach(weight::add);
    var findings = new ArrayList<String>();
    Files.write(WEIGHED, weight.figures(Files.readAllLines(FIGURES), findings));
    assertThat(findings).as("new figures: cp e2e/%s e2e/%s", WEIGHED, FIGURES).isEmpty();
  }

  @Test
  void methods_stayShort() {
    assertThat(
            TEXTS.entrySet().stream()
                .filter(e -> e.getKey().endsWith(".java"))
                .flatMap(e -> longMethods(e.getKey(), e.getValue().lines().toList())))
        .isEmpty();
  }

  /** Counted from the last line that begins at the end's column: parameters stand further in. */
  private static Stream<String> longMethods(String name, List<String> lines) {
    var found = new ArrayList<String>();
    var heads = new HashMap<Integer, Integer>();
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      if (MEMBER_END.matcher(line).matches()) {
        Integer head = heads.remove(line.length());
        if (head != null
            && !TYPE.matcher(lines.get(head)).matches()
            && i - head >= METHOD_LINES_MAX) {
          found.add("%s:%d has %d lines".formatted(name, head + 1, i - head + 1));
        }
      } else if (MEMBER.matcher(line).matches()) {
        heads.put(line.indexOf(line.strip()) + 1, i);
      }
    }
    return found.stream();
  }

  @Test
  void lines_endAsTheEditorRulesSay() {
    assertThat(
            lines(
                (name, line) ->
                    !name.matches(".*\\.(md|diff)|LICENSE")
                        && (line.endsWith(" ") || line.endsWith("\r"))))
        .isEmpty();
  }

  private static boolean namedElsewhere(String name) {
    Path path = Path.of(name);
    String base = path.getFileName().toString();
    String folder = path.getName(path.getNameCount() - 2).toString();
    // A script may be called by a name that is put together from its stem, or with its folder.
    String shown = base.endsWith(".sh") ? base.substring(0, base.length() - 3) : base;
    return TEXTS.entrySet().stream()
        .filter(e -> !e.getKey().equals(name))
        .anyMatch(e -> e.getValue().contains(shown) || folderNamed(e.getValue(), folder, base));
  }

  /** Go reads whole folders. */
  private static boolean folderNamed(String text, String folder, String base) {
    return (base.endsWith(".go") || base.startsWith("go.")) && text.contains("/" + folder);
  }

  private static String folder(String name) {
    return name.substring(0, name.lastIndexOf('/'));
  }

  private interface Rule {
    boolean broken(String name, String line);
  }

  private static List<String> javaLines(Rule rule) {
    return lines((name, line) -> name.endsWith(".java") && rule.broken(name, line));
  }

  private static List<String> lines(Rule rule) {
    return TEXTS.entrySet().stream()
        .flatMap(
            e ->
                e.getValue()
                    .lines()
                    .filter(line -> rule.broken(e.getKey(), line))
                    .map(line -> Stream.of(e.getKey(), line).collect(joining(": "))))
        .toList();
  }
}
