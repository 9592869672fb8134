package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.renderFile;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.ConfigFile;
import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.config.Setting;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.EnvVar;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The values of the node plugin, as the chart and the plugin judge them. */
class ValuesVerdictsTest {
  @TempDir static Path folder;

  /** What the chart lets through, the node plugin takes: else it would start on no node. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "nodePlugin: {sampleInterval: %s} | 100ms,60s,1m,99ms,61s,2m,1.5s,1,s,-1s,60000ms,60001ms,''",
        "nodePlugin: {healthQuietPeriod: %s} | 0s,24h,1d,25h,2d,1h30m,forever,86400s,86401s",
        "nodePlugin: {overuseTolerance: %s} | 0%,5%,100%,101%,5,5.5%,-1%,x",
        "nodePlugin: {overuse: %s} | observe,cordon-gpu,cordon",
        "deviceDiscoveryStrategy: %s | auto,nvml,tegra,NVML,''",
        "deviceListStrategy: %s | envvar,'envvar,cdi-cri','envvar, cdi-cri',cdi,''",
        "deviceIDStrategy: %s | uuid,index,UUID,'uuid,index',''",
        "migStrategy: %s | none,single,mixed,Single,''",
        "compatWithCPUManager: %s | true,'true',yes,1,TRUE,''",
        "failOnInitError: %s | true,'false',no,0,''",
        "gdrcopyEnabled: %s | true,'false',maybe,''",
        "nvidiaDevRoot: %s | /,/run/nvidia,dev,''",
        "nvidiaDriverRoot: %s | /,/run/nvidia/driver,driver",
        "logLevel: %s | info,debug,loud",
        "mps: {root: %s} | /run/mps,run",
      })
  void whatTheChartTakes_thePluginTakes(String values, String candidates) throws IOException {
    int taken = 0;
    int refused = 0;
    for (String value : candidates.split(",(?=(?:[^']*'[^']*')*[^']*$)", -1)) {
      String rendered = rendered(values.formatted(value));
      if (rendered.isEmpty()) {
        refused++;
        continue;
      }
      taken++;
      assertThat(errors(OddValuesTest.plugin(rendered))).as(values, value).isEmpty();
    }
    assertThat(taken).isPositive();
    assertThat(refused).isPositive();
  }

  /** Empty if the chart refuses the values. */
  private static String rendered(String values) throws IOException {
    try {
      return renderFile(folder, values);
    } catch (IllegalStateException refused) {
      return "";
    }
  }

  private static List<String> errors(Container plugin) {
    Map<String, String> env =
        plugin.getEnv().stream()
            .filter(variable -> variable.getValue() != null)
            .collect(Collectors.toMap(EnvVar::getName, EnvVar::getValue));
    var findings = new ConfigErrors();
    Settings<Setting> settings =
        Settings.read(Setting.class, List.of("--node-name=n"), env, findings);
    Options.of(settings);
    Config.of(settings, ConfigFile.EMPTY, findings);
    return findings.errors();
  }
}
