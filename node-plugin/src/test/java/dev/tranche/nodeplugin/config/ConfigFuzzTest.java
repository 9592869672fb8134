package dev.tranche.nodeplugin.config;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.fuzz.Corpus;
import dev.tranche.process.settings.ConfigErrors;
import org.junit.jupiter.api.Test;

/** Any text is a config, or is refused with a sentence. */
public class ConfigFuzzTest {
  @Test
  void corpus() throws Exception {
    Corpus.replay(ConfigFuzzTest.class, ConfigFuzzTest::fuzzerTestOneInput);
  }

  public static void fuzzerTestOneInput(byte[] input) {
    var errors = new ConfigErrors();
    ConfigFile file = ConfigFile.parse(new String(input, UTF_8), errors);
    assertThat(file).isNotNull();
    assertThat(errors.errors()).noneMatch(String::isBlank);
  }
}
