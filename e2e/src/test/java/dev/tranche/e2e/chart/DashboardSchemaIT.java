package dev.tranche.e2e.chart;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The dashboards against the types that Grafana publishes on npm, since no Grafana runs here. */
class DashboardSchemaIT {
  private static final Path CHECK = Path.of("../.build/grafana-schema.sh").toAbsolutePath();
  private static final Path DASHBOARDS = Path.of("../charts/tranche/dashboards").toAbsolutePath();

  @Test
  void dashboards_areWhatGrafanaReads(@TempDir Path folder) throws Exception {
    Shell.run(folder, CHECK + " " + DASHBOARDS + "/*.json").orFail();
  }

  @Test
  void dashboardWithAnUnknownOption_isFound(@TempDir Path folder) throws Exception {
    String overview = Files.readString(DASHBOARDS.resolve("overview.json"));
    assertThat(overview).contains("\"graphMode\": \"area\"");
    Path wrong = folder.resolve("wrong.json");
    Files.writeString(
        wrong, overview.replace("\"graphMode\": \"area\"", "\"graphMode\": \"areas\""));
    assertThat(Shell.run(folder, CHECK + " " + wrong + " || echo refused").orFail())
        .contains("BigValueGraphMode", "refused");
  }
}
