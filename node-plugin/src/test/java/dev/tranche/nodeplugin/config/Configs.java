package dev.tranche.nodeplugin.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/** Configurations for tests of what goes by them. */
public final class Configs {
  private Configs() {}

  /** By flags alone, none of which may be refused. */
  public static Config of(String... flags) {
    return of(errors -> ConfigFile.EMPTY, flags);
  }

  /** By a file and flags, of which nothing may be refused. */
  public static Config ofFile(String yaml, String... flags) {
    return of(errors -> ConfigFile.parse(yaml, errors), flags);
  }

  private static Config of(Function<ConfigErrors, ConfigFile> file, String... flags) {
    var errors = new ConfigErrors();
    Settings<Setting> settings = Settings.read(Setting.class, List.of(flags), Map.of(), errors);
    Config config = Config.of(settings, file.apply(errors), errors);
    assertThat(errors.errors()).isEmpty();
    return config;
  }

  /** The file as it is in use. */
  public static Outcome.Usable usable(String name, String yaml, String... flags) {
    return new Outcome.Usable(name, ofFile(yaml, flags), Set.of(), yaml);
  }
}
