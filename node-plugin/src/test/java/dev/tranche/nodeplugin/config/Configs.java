package dev.tranche.nodeplugin.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.util.List;
import java.util.Map;

/** Configurations for tests of what goes by them. */
public final class Configs {
  private Configs() {}

  /** By flags alone, none of which may be refused. */
  public static Config of(String... flags) {
    var findings = new ConfigErrors();
    Settings<Setting> settings = Setting.read(List.of(flags), Map.of(), findings);
    Config config = Config.of(settings, ConfigFile.EMPTY, findings);
    assertThat(findings.errors()).isEmpty();
    return config;
  }
}
