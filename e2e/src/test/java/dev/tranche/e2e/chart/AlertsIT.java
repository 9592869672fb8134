package dev.tranche.e2e.chart;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AlertsIT {
  @Test
  void rules_passPrometheusOwnCheck(@TempDir Path folder) throws Exception {
    Files.writeString(folder.resolve("rules.yaml"), Alerts.ruleFile());
    assertThat(promtool(folder, "check rules rules.yaml")).contains("SUCCESS");
  }

  @Test
  void alerts_fireForWhatTheyName_andStayQuietOtherwise(@TempDir Path folder) throws Exception {
    Files.writeString(folder.resolve("rules.yaml"), Alerts.ruleFileWithout("runbook_url"::equals));
    Files.writeString(folder.resolve("cases.yaml"), resource("/chart/alerts.yaml"));
    assertThat(promtool(folder, "test rules cases.yaml")).contains("SUCCESS");
  }

  @Test
  void everyAlert_firesForWhatItNames(@TempDir Path folder) throws Exception {
    String cases = passing(folder, "/chart/alerts-fire.yaml");
    String annotated = resource("/chart/alerts.yaml");
    assertThat(Alerts.pages().keySet())
        .allSatisfy(
            alert ->
                assertThat(cases + annotated)
                    .containsPattern("alertname: " + alert + "\\n *exp_alerts: *(\\n *- |\\[\\{)"));
  }

  @Test
  void everyAlert_staysQuiet_forWhatIsBriefOrJustAtItsBound(@TempDir Path folder) throws Exception {
    String cases = passing(folder, "/chart/alerts-brief.yaml");
    assertThat(Alerts.pages().keySet())
        .allSatisfy(alert -> assertThat(cases).contains("alertname: " + alert + "}"));
  }

  /** A comparison of series that no longer exist is empty, so it fires for nothing. */
  @Test
  void everyAlert_isRightWhereAllIsGone(@TempDir Path folder) throws Exception {
    String cases = passing(folder, "/chart/alerts-gone.yaml");
    assertThat(Alerts.pages().keySet())
        .allSatisfy(alert -> assertThat(cases).contains("alertname: " + alert));
  }

  /** Returns cases that Prometheus's test runner has passed, of the rules without annotations. */
  private static String passing(Path folder, String resource) throws Exception {
    Files.writeString(folder.resolve("rules.yaml"), Alerts.ruleFileWithout(annotation -> true));
    Files.writeString(folder.resolve("cases.yaml"), resource(resource));
    assertThat(promtool(folder, "test rules cases.yaml")).contains("SUCCESS");
    return resource(resource);
  }

  private static String resource(String name) throws Exception {
    try (var in = AlertsIT.class.getResourceAsStream(name)) {
      return new String(requireNonNull(in).readAllBytes(), UTF_8);
    }
  }

  private static String promtool(Path folder, String arguments) throws Exception {
    return Shell.run(folder, "\"" + Prometheus.promtool() + "\" " + arguments).orFail();
  }
}
