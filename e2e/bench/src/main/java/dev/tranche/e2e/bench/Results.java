package dev.tranche.e2e.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The content of {@code docs/benchmarks/NAME.json}: all recorded runs of one benchmark, and how
 * they are presented.
 *
 * @param columns who is compared; each row has a cell for each of them
 * @param runs the oldest first
 */
record Results(String command, List<String> columns, List<Row> rows, List<Run> runs) {
  static final String NOT_MEASURED = "not measured";

  private static final ObjectMapper JSON = new ObjectMapper();

  Results {
    for (Row row : rows) {
      if (row.cells().size() != columns.size()) {
        throw new IllegalArgumentException(
            "row \"%s\" has %d cells for %d columns"
                .formatted(row.what(), row.cells().size(), columns.size()));
      }
    }
  }

  /**
   * What one run measured.
   *
   * @param date {@code 2026-11-22}
   * @param machine the number of its processors and their model, and no more
   */
  record Run(String commit, String date, String machine, List<Figure> figures) {}

  /** A line of the table. */
  record Row(String what, String unit, int decimals, List<@Nullable Cell> cells) {
    Row {
      cells = new ArrayList<>(cells);
    }
  }

  /**
   * A figure of our runs, or a value from elsewhere.
   *
   * @param figure the name of a figure, such as {@code plugin.start_ms}
   * @param value a value that others published, or that was measured by hand
   * @param name whose value it is, if no column says so
   */
  record Cell(@Nullable String figure, @Nullable Double value, @Nullable String name) {}

  /** The median of the runs, and the range that they lie in. */
  record Range(double median, double min, double max, int count) {
    /** {@code 58.5 (58 to 59)}. */
    String shown(int decimals) {
      String middle = number(median, decimals);
      return count == 1
          ? middle
          : "%s (%s to %s)".formatted(middle, number(min, decimals), number(max, decimals));
    }

    private static String number(double value, int decimals) {
      return String.format(Locale.ROOT, "%,." + decimals + "f", value);
    }
  }

  /** Null: not measured. */
  @Nullable Range range(@Nullable Cell cell) {
    if (cell == null) {
      return null;
    }
    String name = cell.figure();
    double[] values =
        name == null
            ? cell.value() == null ? new double[0] : new double[] {cell.value()}
            : runs.stream()
                .flatMap(run -> run.figures().stream())
                .filter(figure -> figure.name().equals(name))
                .mapToDouble(Figure::value)
                .toArray();
    if (values.length == 0) {
      return null;
    }
    return new Range(
        Figure.median(values),
        Figure.quantile(0, values),
        Figure.quantile(1, values),
        values.length);
  }

  String shown(@Nullable Cell cell, int decimals) {
    Range range = range(cell);
    return range == null ? NOT_MEASURED : range.shown(decimals);
  }

  Results with(Run run) {
    var all = new ArrayList<>(runs);
    all.add(run);
    return new Results(command, columns, rows, List.copyOf(all));
  }

  static Path file(Path root, String name) {
    return folder(root).resolve(name + ".json");
  }

  static Path folder(Path root) {
    return root.resolve("docs/benchmarks");
  }

  static Results read(Path file) throws IOException {
    return JSON.readValue(file.toFile(), Results.class);
  }

  void write(Path file) throws IOException {
    Files.writeString(file, JSON.writerWithDefaultPrettyPrinter().writeValueAsString(this) + "\n");
  }
}
