package dev.tranche.e2e.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** One measured number, with a name such as {@code plugin.start_ms}. */
public record Figure(String name, double value, String unit) {
  static String table(List<Figure> figures) {
    int width = figures.stream().mapToInt(f -> f.name().length()).max().orElse(0);
    var table = new StringBuilder();
    for (Figure f : figures) {
      table.append(
          String.format(Locale.ROOT, "%-" + width + "s  %12.2f %s%n", f.name, f.value, f.unit));
    }
    return table.toString();
  }

  static void write(List<Figure> figures, Path file) throws IOException {
    new ObjectMapper().writerWithDefaultPrettyPrinter().writeValue(file.toFile(), figures);
  }

  /** Reads what {@link #write} has written. */
  static List<Figure> read(Path file) throws IOException {
    return List.of(new ObjectMapper().readValue(file.toFile(), Figure[].class));
  }

  /** Returns the quantile of the measured values at {@code part}, 0 to 1. */
  static double quantile(double part, double... values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[Math.min(sorted.length - 1, (int) (part * sorted.length))];
  }

  /** The value that half of the measurements are below. */
  static double median(double... values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
}
