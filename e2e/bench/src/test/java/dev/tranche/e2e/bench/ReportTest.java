package dev.tranche.e2e.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportTest {
  private static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();
  private static final Path FIXTURE = Path.of("src/test/resources/bench/sample.json");

  private static Results.Run run(double startMs) {
    return new Results.Run(
        "abc1234", "2026-11-22", "2 × CPU", List.of(new Figure("plugin.start_ms", startMs, "ms")));
  }

  @Test
  void tables_areThoseOfTheRecordedResults() throws IOException {
    for (var file : Report.render(ROOT).entrySet()) {
      assertThat(withoutAges(Files.readString(file.getKey())))
          .as("%s; ./bench report rewrites it", ROOT.relativize(file.getKey()))
          .isEqualTo(withoutAges(file.getValue()));
    }
  }

  /** They change with each commit. */
  private static String withoutAges(String page) {
    return page.replaceAll(", [\\d,]+ commits ago(?: \\(old\\))?", "");
  }

  @Test
  void block_isTableAndRuns() throws IOException {
    assertThat(Report.block("sample", Results.read(FIXTURE), Map.of("abc1234", ", 7 commits ago")))
        .isEqualTo(
            """
            | figure | unit | ours | a peer |
            |---|---|---|---|
            | start | ms | 330 (320 to 350) | 15 |
            | memory | MB | not measured | 28.0 |

            1 run: 2026-11-21, commit abc1234, 7 commits ago, 2 × CPU; 2 runs: 2026-11-22, commit def5678, 2 × CPU. [Data](docs/benchmarks/sample.json).
            """);
  }

  @Test
  void block_withoutRuns_saysSo() {
    var none = new Results("./bench x", List.of("ours"), List.of(), List.of());
    assertThat(Report.block("x", none, Map.of())).contains("No run is recorded yet. [Data]");
  }

  @Test
  void pages_sayWhatTheNewestRunFound() {
    assertThat(Report.soaked(new Results("./bench soak", List.of(), List.of(), List.of())))
        .isEmpty();
    List<Results.Run> runs = List.of(soak("2026-11-22", 1), soak("2026-11-23", 0));
    assertThat(Report.soaked(new Results("./bench soak", List.of(), List.of(), runs)))
        .isEqualTo(
            "- [The soak](architecture/tests.md#the-soak) of a real cluster, last recorded on"
                + " 2026-11-23: 90 faults, 1,234 pods, 0 violations.\n");
  }

  private static Results.Run soak(String date, int violations) {
    return new Results.Run(
        "abc1234",
        date,
        "2 × CPU",
        List.of(
            new Figure("soak.faults", 90, "faults"),
            new Figure("soak.pods", 1_234, "pods"),
            new Figure("soak.violations", violations, "violations")));
  }

  @Test
  void recordedRun_isAddedAfterTheOthers(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("sample.json");
    Results.read(FIXTURE).with(run(500)).write(file);
    Results grown = Results.read(file);
    assertThat(grown.runs()).hasSize(4).last().isEqualTo(run(500));
    assertThat(Report.block("sample", grown, Map.of())).contains("340 (320 to 500)");
  }

  @Test
  void pageWithoutThePlaceOfATable_isRefusedInASentence() {
    assertThatThrownBy(() -> Report.replace("BENCHMARKS.md", "# Benchmarks\n", "scale", "table"))
        .hasMessageContaining("BENCHMARKS.md has no line \"<!-- begin scale -->\"");
  }

  @Test
  void rowWithTooFewCells_isRefusedInASentence() {
    var row = new Results.Row("start", "ms", 0, List.of());
    assertThatThrownBy(() -> new Results("./bench x", List.of("ours"), List.of(row), List.of()))
        .hasMessage("row \"start\" has 0 cells for 1 columns");
  }

  @Test
  void provenance_tellsTheKindOfMachineAndNotItsName() throws Exception {
    Results.Run run = Provenance.of(ROOT, List.of());
    assertThat(run.commit()).matches("[0-9a-f]{7,40}\\+?|unknown");
    assertThat(Provenance.age(ROOT, run.commit())).matches("(, 0 commits ago)?");
    assertThat(Provenance.age(ROOT, "0123456+")).isEmpty();
    assertThat(run.date()).matches("\\d{4}-\\d\\d-\\d\\d");
    assertThat(run.machine()).matches("\\d+ cores \\([a-z0-9_-]+\\)");
    assertThat(Integer.parseInt(run.machine().split(" ", 2)[0]))
        .isGreaterThanOrEqualTo(Runtime.getRuntime().availableProcessors());
  }
}
