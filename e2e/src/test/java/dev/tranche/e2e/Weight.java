package dev.tranche.e2e;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Counts what there is to read. Of Java, lines without comments, imports and annotations that stand
 * alone; and tokens, so that longer lines gain nothing.
 */
final class Weight {
  private static final Pattern TOKEN =
      Pattern.compile(
          "(?sU)\"\"\".*?(?<!\\\\)\"\"\"|\"(?:\\\\.|[^\"\\\\\\n"
              + "])*\"|'(?:\\\\.|[^'\\\\\\n"
              + "])*'|//[^\\n"
              + "]*|/\\*.*?\\*/|[A-Za-z_$][\\w$]*|\\d[\\w.]*|\\S");

  private static final Pattern IMPORT = Pattern.compile("(?:import|package)\\s.*;");
  private static final Pattern ANNOTATION = Pattern.compile("@\\w[\\w.]*(?:\\([^()]*\\))?");
  private static final Pattern NESTED = Pattern.compile("[<(][^<>()]*[>)]");

  /** A line of the file with the figures: the count, by how much it may grow, and of what. */
  private static final Pattern FIGURE = Pattern.compile("(\\d+) \\+(\\d+) (.+)");

  private static final Set<String> TOOLS = Set.of("e2e", "lab", "verify-gpu", "training", "deploy");
  private static final Set<String> WEB = Set.of("ts", "tsx", "css", "mjs", "html");
  private static final Set<String> NOT_READ = Set.of("svg", "png", "lock", "sum", "LICENSE");
  private static final int WIDE_PARAMETERS = 6;

  /** Kinds of files with fewer lines need no figure. */
  private static final int SMALL = 60;

  private final Map<String, Integer> counts = new TreeMap<>();

  void add(String path, String text) {
    String name = path.substring(path.lastIndexOf('/') + 1);
    String suffix = name.contains(".") ? name.substring(name.lastIndexOf('.') + 1) : "";
    if (suffix.equals("md")) {
      addPage(path, text);
    } else if (suffix.equals("java")) {
      addJava(path, text);
    } else if (!NOT_READ.contains(suffix)
        && !name.equals("LICENSE")
        && !name.equals("package-lock.json")) {
      other(path, suffix, text)
          .ifPresent(row -> add(row, (int) text.lines().filter(line -> !line.isBlank()).count()));
    }
  }

  private void add(String row, int count) {
    counts.merge(row, count, Integer::sum);
  }

  private void addPage(String path, String text) {
    int words = text.isBlank() ? 0 : text.strip().split("(?U)\\s+").length;
    boolean ofTests = path.startsWith("e2e/");
    add(ofTests ? "words of pages under e2e" : "words of pages", words);
    add("pages", ofTests ? 0 : 1);
  }

  private static Optional<String> other(String path, String suffix, String text) {
    if (suffix.isEmpty() || suffix.equals("sh")) {
      return suffix.isEmpty() && !text.startsWith("#!") ? Optional.empty() : Optional.of("scripts");
    }
    String place = path.startsWith("docs/") ? "docs" : "other places";
    place = path.contains("/src/main/") ? "main resources" : place;
    place = path.contains("/src/test/") ? "test resources" : place;
    place = path.startsWith("charts/") ? "the chart" : place;
    return Optional.of(WEB.contains(suffix) ? "web page" : suffix + " in " + place);
  }

  private void addJava(String path, String text) {
    int tokens = 0;
    var bare = new StringBuilder();
    Matcher found = TOKEN.matcher(text);
    while (found.find()) {
      String token = found.group();
      int lineEnds = (int) token.chars().filter(c -> c == '\n').count();
      boolean isComment = token.startsWith("//") || token.startsWith("/*");
      found.appendReplacement(
          bare, isComment ? "\n".repeat(lineEnds) : Matcher.quoteReplacement(token));
      tokens += isComment ? 0 : token.startsWith("\"\"\"") ? 1 + lineEnds : 1;
    }
    found.appendTail(bare);
    List<String> lines = bare.toString().lines().map(String::strip).toList();
    int imported =
        lines.stream()
            .filter(line -> IMPORT.matcher(line).matches())
            .mapToInt(line -> (int) TOKEN.matcher(line).results().count())
            .sum();
    addJava(path, (int) lines.stream().filter(Weight::isCode).count(), tokens - imported, bare);
  }

  private static boolean isCode(String line) {
    return !line.isEmpty()
        && !IMPORT.matcher(line).matches()
        && !ANNOTATION.matcher(line).matches();
  }

  private void addJava(String path, int lines, int tokens, CharSequence bare) {
    String module = path.split("/src/")[0];
    if (path.contains("/src/") && !path.contains("/src/main/java/")) {
      add("lines of tests", lines);
    } else if (!path.contains("/src/") || TOOLS.contains(module.split("/")[0])) {
      add("lines of tools", lines);
    } else {
      add("lines of the product", lines);
      add("lines of the product in " + module, lines);
      add("tokens of the product", tokens);
      add("tokens of the product in " + module, tokens);
      add("wide constructors of the product", wideConstructors(path, bare));
    }
  }

  /** Those of classes with many parameters; records of data do not count. */
  private static int wideConstructors(String path, CharSequence bare) {
    String type = path.substring(path.lastIndexOf('/') + 1, path.length() - ".java".length());
    return (int)
        Pattern.compile(
                "(?<!record )\\b%s\\s*\\(([^{;]*?)\\)\\s*(?:throws [\\w, ]+)?\\{".formatted(type))
            .matcher(bare)
            .results()
            .filter(found -> parameters(found.group(1)) >= WIDE_PARAMETERS)
            .count();
  }

  private static int parameters(String list) {
    String flat = list;
    for (String before = ""; !before.equals(flat); ) {
      before = flat;
      flat = NESTED.matcher(flat).replaceAll("");
    }
    return flat.split(",").length;
  }

  /** Returns the file as it should be, with the room that it gave, and says what is wrong in it. */
  List<String> figures(List<String> file, List<String> findings) {
    var now = new ArrayList<String>();
    var rows = new TreeMap<String, String>();
    for (String line : file) {
      Matcher figure = FIGURE.matcher(line);
      if (!figure.matches()) {
        now.add(line);
      } else if (counts.containsKey(figure.group(3))) {
        String row = figure.group(3);
        int before = Integer.parseInt(figure.group(1));
        int room = Integer.parseInt(figure.group(2));
        rows.put(row, "%d +%d %s".formatted(counts.get(row), room, row));
        compare(row, before, room).ifPresent(findings::add);
      }
    }
    counts.forEach(
        (row, count) -> {
          if (count >= SMALL && !rows.containsKey(row)) {
            rows.put(row, "%d +0 %s".formatted(count, row));
            findings.add("%s: %d, and no figure".formatted(row, count));
          }
        });
    now.addAll(rows.values());
    return now;
  }

  private Optional<String> compare(String row, int before, int room) {
    int count = counts.get(row);
    if (count > before + room) {
      return Optional.of(
          "%s: %d, allowed are %d; remove as much as you add".formatted(row, count, before + room));
    }
    return count < before - Math.max(room, before / 50)
        ? Optional.of("%s: only %d of %d; lower the figure".formatted(row, count, before))
        : Optional.empty();
  }
}
