package dev.tranche.e2e.bench;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A line of the first table of BENCHMARKS.md.
 *
 * @param benchmark the benchmark whose results answer the question
 * @param peer the best of the others
 * @param floor a system that does nothing
 * @param ceiling a bound that nobody can pass, or an oracle
 */
record SummaryRow(
    String question,
    String benchmark,
    String unit,
    int decimals,
    Results.Cell ours,
    Results.@Nullable Cell peer,
    Results.@Nullable Cell floor,
    Results.@Nullable Cell ceiling) {

  static List<SummaryRow> all(Path root) throws IOException {
    Path file = Results.folder(root).resolve("questions.json");
    return new ObjectMapper().readValue(file.toFile(), new TypeReference<>() {});
  }

  /**
   * @param age of the newest run, as the end of a sentence
   */
  String markdown(Results results, String age) {
    String measured = results.shown(ours, decimals);
    return "| %s | %s | %s | %s | %s | `%s`%s |%n"
        .formatted(
            question,
            results.range(ours) == null ? measured : measured + " " + unit,
            other(peer, results),
            other(floor, results),
            other(ceiling, results),
            results.command(),
            age);
  }

  private String other(Results.@Nullable Cell cell, Results results) {
    if (cell == null || results.range(cell) == null) {
      return Results.NOT_MEASURED;
    }
    return "%s %s, %s".formatted(results.shown(cell, decimals), unit, cell.name());
  }
}
