package dev.tranche.e2e.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Implements {@code ./bench report}: writes the tables of BENCHMARKS.md, and the figures that
 * docs/limits.md begins with, so that nobody types a figure. The same results always give the same
 * files, but for the ages of their commits.
 */
final class Report {
  private static final String PAGE = "BENCHMARKS.md";
  private static final String PROMISES = "docs/limits.md";

  private Report() {}

  /** Returns every file that is generated from the recorded results, with its text. */
  static Map<Path, String> render(Path root) throws IOException {
    Map<String, Results> all = results(root);
    var files = new LinkedHashMap<Path, String>();
    Path page = root.resolve(PAGE);
    var ages = new HashMap<String, String>();
    for (Results results : all.values()) {
      for (Results.Run run : results.runs()) {
        ages.put(run.commit(), Provenance.age(root, run.commit()));
      }
    }
    String summary = summary(SummaryRow.all(root), all, ages);
    String text = replace(PAGE, Files.readString(page), "questions", summary);
    for (var entry : all.entrySet()) {
      String name = entry.getKey();
      Results results = entry.getValue();
      text = replace(PAGE, text, name, block(name, results, ages));
    }
    files.put(page, text);
    String searched = simulated(all.get("simulate")) + soaked(all.get("soak"));
    Path file = root.resolve(PROMISES);
    files.put(file, replace(PROMISES, Files.readString(file), "searched", searched));
    return files;
  }

  /** Writes the generated files that have changed, and returns them. */
  static List<Path> write(Path root) throws IOException {
    var changed = new ArrayList<Path>();
    for (var file : render(root).entrySet()) {
      if (!Files.exists(file.getKey())
          || !Files.readString(file.getKey()).equals(file.getValue())) {
        Files.writeString(file.getKey(), file.getValue());
        changed.add(root.relativize(file.getKey()));
      }
    }
    return changed;
  }

  private static Map<String, Results> results(Path root) throws IOException {
    var all = new TreeMap<String, Results>();
    try (Stream<Path> files = Files.list(Results.folder(root))) {
      for (Path file : files.toList()) {
        String name = file.getFileName().toString();
        if (name.endsWith(".json") && !name.equals("questions.json")) {
          all.put(name.substring(0, name.length() - ".json".length()), Results.read(file));
        }
      }
    }
    return all;
  }

  /** What docs/limits.md says of the newest run of the simulator. */
  static String simulated(@Nullable Results results) {
    return newest(
        results,
        "[Simulated clusters](architecture/tests.md#the-simulator) under faults of all kinds",
        "simulate.seeds",
        "simulate.pods",
        "simulate.violations");
  }

  /** What it says of the newest run of the soak. */
  static String soaked(@Nullable Results results) {
    return newest(
        results,
        "[The soak](architecture/tests.md#the-soak) of a real cluster",
        "soak.faults",
        "soak.pods",
        "soak.violations");
  }

  private static String newest(@Nullable Results results, String what, String... figures) {
    if (results == null || results.runs().isEmpty()) {
      return "";
    }
    Results.Run run = results.runs().getLast();
    String shown =
        Stream.of(figures).map(name -> shown(run, name)).collect(Collectors.joining(", "));
    return "- %s, last recorded on %s: %s.\n".formatted(what, run.date(), shown);
  }

  private static String shown(Results.Run run, String name) {
    Figure found =
        run.figures().stream()
            .filter(figure -> figure.name().equals(name))
            .findFirst()
            .orElseThrow(() -> new IllegalArgumentException("a run has no figure " + name));
    return String.format(Locale.ROOT, "%,.0f %s", found.value(), found.unit());
  }

  private static String summary(
      List<SummaryRow> rows, Map<String, Results> all, Map<String, String> ages) {
    var table = new StringBuilder();
    table.append(
        "| question | ours: median (range) | best peer | does nothing | ceiling | command, newest"
            + " run |\n");
    table.append("|---|---|---|---|---|---|\n");
    for (SummaryRow row : rows) {
      Results results = all.get(row.benchmark());
      if (results == null) {
        throw new IllegalArgumentException(
            "questions.json names \"%s\", and there is no docs/benchmarks/%s.json"
                .formatted(row.benchmark(), row.benchmark()));
      }
      String age = ages.getOrDefault(results.runs().getLast().commit(), "");
      table.append(row.markdown(results, age));
    }
    return table.toString();
  }

  /**
   * Returns the table of one benchmark, and the origin of its runs.
   *
   * @param ages of commits, each as the end of a sentence
   */
  static String block(String name, Results results, Map<String, String> ages) {
    return table(results) + "\n" + provenance(name, results, ages) + "\n";
  }

  private static String table(Results results) {
    var table = new StringBuilder("| figure | unit |");
    results.columns().forEach(column -> table.append(' ').append(column).append(" |"));
    table.append("\n|---|---|").append("---|".repeat(results.columns().size())).append('\n');
    for (Results.Row row : results.rows()) {
      table.append("| %s | %s |".formatted(row.what(), row.unit()));
      row.cells()
          .forEach(
              cell -> table.append(' ').append(results.shown(cell, row.decimals())).append(" |"));
      table.append('\n');
    }
    return table.toString();
  }

  private static String provenance(String name, Results results, Map<String, String> ages) {
    String runs =
        results.runs().stream()
            .map(
                run ->
                    "%s, commit %s%s, %s"
                        .formatted(
                            run.date(),
                            run.commit(),
                            ages.getOrDefault(run.commit(), ""),
                            run.machine()))
            .collect(Collectors.groupingBy(line -> line, LinkedHashMap::new, Collectors.counting()))
            .entrySet()
            .stream()
            .map(e -> e.getValue() + (e.getValue() == 1 ? " run: " : " runs: ") + e.getKey())
            .collect(Collectors.joining("; "));
    return "%s. [Data](docs/benchmarks/%s.json)."
        .formatted(runs.isEmpty() ? "No run is recorded yet" : runs, name);
  }

  /** Everything between the two comments that name a block. */
  static String replace(String name, String page, String block, String by) {
    String begin = "<!-- begin " + block + " -->\n";
    String end = "<!-- end " + block + " -->";
    int from = page.indexOf(begin);
    int to = page.indexOf(end);
    if (from < 0 || to < from) {
      throw new IllegalArgumentException(
          "%s has no line \"%s\" with \"%s\" after it; add both where the table belongs"
              .formatted(name, begin.strip(), end));
    }
    return page.substring(0, from + begin.length()) + by + page.substring(to);
  }
}
