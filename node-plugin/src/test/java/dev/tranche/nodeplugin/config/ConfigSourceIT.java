package dev.tranche.nodeplugin.config;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A folder as the kubelet mounts a ConfigMap. */
class ConfigSourceIT {
  @TempDir Path folder;
  private int versions;

  private ConfigSource source(String... more) {
    List<String> flags = new ArrayList<>(List.of("--config-dir=" + folder));
    flags.addAll(List.of(more));
    return new ConfigSource(Settings.read(Setting.class, flags, Map.of(), new ConfigErrors()));
  }

  /** All keys at once, by a link that is swapped. */
  private void mount(Map<String, String> keys) throws IOException {
    Path version = Files.createDirectory(folder.resolve("..2026_" + versions++));
    for (var key : keys.entrySet()) {
      Files.writeString(version.resolve(key.getKey()), key.getValue());
      Path link = folder.resolve(key.getKey());
      if (!Files.isSymbolicLink(link)) {
        Files.createSymbolicLink(link, Path.of("..data", key.getKey()));
      }
    }
    Path fresh = Files.createSymbolicLink(folder.resolve("..data_tmp"), version.getFileName());
    Files.move(fresh, folder.resolve("..data"), StandardCopyOption.ATOMIC_MOVE);
  }

  private static String replicas(int count) {
    return "sharing: {timeSlicing: {resources: [{name: gpu, replicas: " + count + "}]}}";
  }

  private static String summary(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Refused refused -> refused.reason();
      case Outcome.Usable usable ->
          usable.name() + " " + usable.config().sharing().resources().getFirst().replicas();
    };
  }

  @Test
  void swappedLink_isAnotherConfig_andTheSameTextIsNotParsedAgain() throws IOException {
    mount(Map.of("a", replicas(2)));
    ConfigSource source = source();
    Outcome before = source.load("", null);
    assertThat(summary(before)).isEqualTo("a 2");
    assertThat(source.load("", before)).isSameAs(before);
    mount(Map.of("a", replicas(3)));
    assertThat(summary(source.load("", before))).isEqualTo("a 3");
    mount(Map.of("a", replicas(0)));
    Outcome refused = source.load("", before);
    assertThat(refused).isInstanceOf(Outcome.Refused.class);
    assertThat(source.load("", refused)).isSameAs(refused);
  }

  @Test
  void label_selectsAKey_andAnUnknownOneIsRefusedWithTheKeysThatThereAre() throws IOException {
    mount(Map.of("a", replicas(2), "b", replicas(3)));
    assertThat(summary(source().load("b", null))).isEqualTo("b 3");
    assertThat(summary(source("--default-config=a").load("", null))).isEqualTo("a 2");
    assertThat(summary(source().load("c", null))).contains("\"c\"").contains("a, b");
    assertThat(summary(source().load("", null))).contains("--default-config (DEFAULT_CONFIG)");
  }

  @Test
  void missingFolder_isRefused() {
    ConfigSource source = source("--config-dir=" + folder.resolve("none"));
    assertThat(summary(source.load("", null))).contains("cannot be read");
  }

  @Test
  void keptConfig_isReadAsItWas_andATextThatIsNoConfigIsNone() throws IOException {
    mount(Map.of("a", replicas(4)));
    var used = (Outcome.Usable) source().load("", null);
    assertThat(source().earlier(used.kept())).contains(used);
    for (String text : List.of("", "a", "a\nversion: [")) {
      assertThat(source().earlier(text.getBytes(UTF_8))).isEmpty();
    }
  }
}
