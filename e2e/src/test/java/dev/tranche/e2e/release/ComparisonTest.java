package dev.tranche.e2e.release;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ComparisonTest {
  @TempDir Path folder;

  private Path release(String name, String user, String chart, String lib, String aot)
      throws IOException {
    Path release = folder.resolve(name);
    Path tars = Files.createDirectories(folder.resolve(name + ".tars"));
    List<Path> layers = new ArrayList<>();
    layers.add(Files.writeString(tars.resolve("1-lib.tar"), lib));
    layers.add(Files.writeString(tars.resolve("aot.tar"), aot));
    OciLayout.write(
        release.resolve("image"),
        new OciLayout.Image(
            "example/a:1.0.0", "amd64", "2026-01-01T00:00:00Z", new JsonObject().put("User", user)),
        layers);
    Files.writeString(release.resolve("chart.tgz"), chart);
    Files.writeString(release.resolve("tranche-image-linux-amd64.tar"), aot);
    Files.writeString(release.resolve("SHA256SUMS"), aot);
    return release;
  }

  @Test
  void onlyTheLayerOfAotCaches_mayDiffer() throws IOException {
    Path one = release("one", "1", "chart", "lib", "recorded");
    Comparison comparison =
        Comparison.of(one, release("other", "1", "chart", "lib", "recorded again"));
    assertThat(comparison.differences()).isEmpty();
    assertThat(comparison.equal())
        .containsExactly("chart.tgz", "the image's layer 1-lib", "the image's configuration");
  }

  @Test
  void everythingElseThatDiffers_isNamed() throws IOException {
    Path one = release("one", "1", "chart", "lib", "recorded");
    Path other = release("other", "2", "Chart", "Lib", "recorded");
    Files.writeString(other.resolve("more.txt"), "");
    Comparison comparison = Comparison.of(one, other);
    assertThat(comparison.equal()).isEmpty();
    assertThat(comparison.differences())
        .containsExactly(
            "chart.tgz differs at byte 0",
            "more.txt is in one of them only",
            "the image's layer 1-lib differs",
            "the image's configuration differs");
  }
}
