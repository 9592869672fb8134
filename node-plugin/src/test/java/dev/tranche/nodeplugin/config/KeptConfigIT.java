package dev.tranche.nodeplugin.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KeptConfigIT {
  @TempDir Path folder;

  private ConfigSource source() throws IOException {
    Path configs = Files.createDirectories(folder.resolve("configs"));
    List<String> flags = List.of("--config-dir=" + configs);
    return new ConfigSource(Settings.read(Setting.class, flags, Map.of(), new ConfigErrors()));
  }

  private void config(String text) throws IOException {
    Files.writeString(Files.createDirectories(folder.resolve("configs")).resolve("a"), text);
  }

  @Test
  void keptConfig_isReadAsItWas() throws IOException {
    config("version: v1\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}\n");
    KeptConfig kept = new KeptConfig(folder.resolve("state"));
    assertThat(kept.read(source())).isEmpty();
    Outcome used = source().load("");
    Path file = Files.createDirectories(folder.resolve("state")).resolve(KeptConfig.NAME);
    Files.write(file, KeptConfig.content((Outcome.Usable) used));
    config("sharing: {");
    assertThat(source().load("")).isInstanceOf(Outcome.Refused.class);
    assertThat(kept.read(source()).orElseThrow()).isEqualTo(used);
  }

  @Test
  void fileThatIsNoConfig_isNone() throws IOException {
    for (String text : List.of("", "a", "a\nversion: [")) {
      Files.writeString(folder.resolve("config-last"), text);
      assertThat(new KeptConfig(folder).read(source())).isEmpty();
    }
  }
}
