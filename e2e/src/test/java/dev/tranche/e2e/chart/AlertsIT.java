package dev.tranche.e2e.chart;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AlertsIT {
  @Test
  void rules_passPrometheusOwnCheck(@TempDir Path folder) throws Exception {
    Path file = Files.writeString(folder.resolve("rules.yaml"), Alerts.ruleFile());
    Path promtool = Path.of("../.build/promtool.sh").toAbsolutePath();
    Process check =
        new ProcessBuilder("bash", "-c", "\"$(" + promtool + ")\" check rules " + file)
            .redirectErrorStream(true)
            .start();
    String said = new String(check.getInputStream().readAllBytes(), UTF_8);
    assertThat(check.waitFor()).as(said).isZero();
    assertThat(said).contains("SUCCESS");
  }
}
