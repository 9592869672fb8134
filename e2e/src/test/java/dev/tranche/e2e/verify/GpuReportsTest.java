package dev.tranche.e2e.verify;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The table of docs/gpu-support.md says what the reports beside it say, and README counts them. */
class GpuReportsTest {
  private static final Path DOCS = Path.of("..", "docs");
  private static final Path REPORTS = DOCS.resolve("gpu-reports");
  private static final Pattern ROW =
      Pattern.compile(
          "^\\| .* \\| \\[report]\\(gpu-reports/([\\w.-]+\\.json)\\) \\|$", Pattern.MULTILINE);
  private static final Pattern WHOLE_UUID =
      Pattern.compile("(GPU|MIG)-[0-9a-f]{8}-", Pattern.CASE_INSENSITIVE);

  private static List<Path> reports() throws IOException {
    try (Stream<Path> files = Files.list(REPORTS)) {
      return files.sorted().toList();
    }
  }

  private static String row(Path file) throws IOException {
    JsonObject report = new JsonObject(Files.readString(file));
    JsonObject facts = report.getJsonObject("facts");
    return "| %s | %s | %s | %s | %s | %s | %s | [report](gpu-reports/%s) |"
        .formatted(
            facts.getString("GPUs"),
            facts.getString("driver"),
            facts.getString("toolkit"),
            facts.getString("Kubernetes", "–"),
            facts.getString("kernel"),
            facts.getString("date"),
            report.getString("summary"),
            REPORTS.relativize(file));
  }

  @Test
  void everyReport_hasItsRow_andEveryRowItsReport() throws IOException {
    Matcher rows = ROW.matcher(Files.readString(DOCS.resolve("gpu-support.md")));
    List<String> found = rows.results().map(row -> row.group()).sorted().toList();
    assertThat(found).isNotEmpty();
    for (Path report : reports()) {
      assertThat(found).contains(row(report));
    }
    assertThat(found).hasSameSizeAs(reports());
  }

  @Test
  void everyReport_isAsItWasWritten_andNamesNoMachine() throws IOException {
    for (Path file : reports()) {
      String text = Files.readString(file);
      JsonObject report = new JsonObject(text);
      assertThat(report.getString("digest")).as("%s", file).isEqualTo(Report.digest(report));
      assertThat(report.getString("summary")).as("%s", file).isEqualTo(summary(report));
      assertThat(WHOLE_UUID.matcher(text).find()).as("%s has a whole uuid", file).isFalse();
    }
  }

  private static String summary(JsonObject report) {
    JsonArray checks = report.getJsonArray("checks");
    List<String> answers =
        IntStream.range(0, checks.size())
            .mapToObj(index -> checks.getJsonObject(index).getString("answer"))
            .toList();
    return Stream.of(CheckStatus.values())
        .map(CheckStatus::text)
        .filter(answers::contains)
        .map(text -> answers.stream().filter(text::equals).count() + " " + text)
        .collect(Collectors.joining(", "));
  }

  @Test
  void readme_countsThem() throws IOException {
    int count = reports().size();
    assertThat(Files.readString(Path.of("..", "README.md")))
        .contains(
            count
                + (count == 1 ? " report" : " reports")
                + " of real GPUs](docs/gpu-support.md#reports-of-real-gpus)");
  }
}
