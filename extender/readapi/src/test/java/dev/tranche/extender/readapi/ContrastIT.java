package dev.tranche.extender.readapi;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static dev.tranche.extender.readapi.ScriptedApi.snapshot;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.options.ColorScheme;
import io.vertx.core.json.JsonObject;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.imageio.ImageIO;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The states of the map differ from each other by at least 3:1, as WCAG 2 asks of graphics. It is
 * measured from what the browser has drawn.
 */
final class ContrastIT extends PageFixture {
  private static final double GRAPHICS_MIN = 3;

  /** A colour on fewer pixels is the edge of something else. */
  private static final double PART_MIN = 0.02;

  /** Namespaces of all colours, each with a pod that works and one that does not. */
  private static List<JsonObject> allStates(int more) {
    var rows = new ArrayList<JsonObject>();
    for (int i = 0; i < 8; i++) {
      rows.add(
          Scene.gpu("node-a", i, "Tesla T4", 15, 60)
              .pod("team-" + i, "busy-" + i, 4, 50, 2)
              .idle("team-" + i, "idle-" + i, 4, 30)
              .row());
    }
    rows.add(Scene.gpu("node-b", 0, "Tesla T4", 15, 100).pod("team-0", "full", 10, 99, 15).row());
    rows.add(Scene.gpu("node-b", 1, "Tesla T4", 15, 0).idle("team-0", "idle", 10, 30).row());
    rows.add(Scene.gpu("node-b", 2, "Tesla T4", 15, 0).row());
    rows.add(Scene.gpu("node-b", 3, "Tesla T4", 15, 0).health("Unhealthy").row());
    rows.add(Scene.gpu("node-b", 4, "Tesla T4", 15, -1).row().put("granted", half()));
    for (int i = 0; i < more; i++) {
      rows.add(Scene.gpu("other-" + i / 8, i % 8, "Tesla T4", 15, 0).row());
    }
    return rows;
  }

  private static JsonObject half() {
    return new JsonObject().put("gpus", "500m").put("memory", "7Gi");
  }

  private void open(ColorScheme theme, int more) {
    page.context().close();
    page = newPage(1280, 800, theme);
    api.snapshot = snapshot(allStates(more), List.of());
    go("");
    assertThat(cells()).hasCount(13 + more);
    // What text does to the pixels is axe's to judge.
    page.evaluate(
        "document.querySelectorAll('.text').forEach(text => text.style.visibility = 'hidden')");
  }

  @ParameterizedTest
  @ValueSource(strings = {"LIGHT", "DARK"})
  void partsOfAStack_differ(ColorScheme theme) throws IOException {
    open(theme, 0);
    Pixels empty = pixels(cell("node-b GPU 2").locator(".part.free"));
    int page = empty.main();
    assertThat(empty.edgeContrast(page)).as("edge of what is free").isGreaterThan(GRAPHICS_MIN);
    for (int i = 0; i < 8; i++) {
      Locator cell = cell("node-a GPU " + i);
      Pixels busy = pixels(cell.locator(".part.ns:not(.idle)"));
      assertThat(contrast(busy.main(), page)).as("busy %d", i).isGreaterThan(GRAPHICS_MIN);
      assertThat(busy.shareOf(busy.main())).as("busy %d", i).isGreaterThan(0.9);
      Pixels idle = pixels(cell.locator(".part.idle"));
      assertThat(idle.strongest(page)).as("stripes %d", i).isGreaterThan(GRAPHICS_MIN);
      // As much page as stripe: it is neither the solid colour nor empty.
      assertThat(idle.shareOver(page, GRAPHICS_MIN)).as("stripes %d", i).isBetween(0.15, 0.6);
    }
    Pixels blocked = pixels(cell("node-b GPU 3").locator(".part.blocked"));
    assertThat(blocked.strongest(page)).as("blocked").isGreaterThan(GRAPHICS_MIN);
    Pixels unknown = pixels(cell("node-b GPU 4").locator(".part.unknown"));
    assertThat(unknown.edgeContrast(page)).as("unknown").isGreaterThan(GRAPHICS_MIN);
  }

  @ParameterizedTest
  @ValueSource(strings = {"LIGHT", "DARK"})
  void bars_differFromTheirTrack(ColorScheme theme) throws IOException {
    open(theme, 0);
    for (String kind : List.of("sm", "mem")) {
      int full = pixels(cell("node-b GPU 0").locator(".bar." + kind)).main();
      int none = pixels(cell("node-b GPU 2").locator(".bar." + kind)).main();
      assertThat(contrast(full, none)).as(kind).isGreaterThan(GRAPHICS_MIN);
    }
  }

  /** Cells without text: each is one image. */
  @ParameterizedTest
  @ValueSource(strings = {"LIGHT", "DARK"})
  void smallCells_differ(ColorScheme theme) throws IOException {
    open(theme, 500);
    int empty = pixels(cell("node-b GPU 2").locator(".box")).main();
    Pixels busy = pixels(cell("node-b GPU 0").locator(".box"));
    assertThat(contrast(busy.main(), empty)).as("busy").isGreaterThan(GRAPHICS_MIN);
    Pixels idle = pixels(cell("node-b GPU 1").locator(".box"));
    assertThat(idle.strongest(empty)).as("idle").isGreaterThan(GRAPHICS_MIN);
    assertThat(idle.shareOver(empty, GRAPHICS_MIN)).as("idle").isBetween(0.3, 0.75);
    Pixels broken = pixels(cell("node-b GPU 3").locator(".box"));
    assertThat(broken.edgeContrast(empty)).as("frame").isGreaterThan(GRAPHICS_MIN);
  }

  private static Pixels pixels(Locator of) throws IOException {
    return new Pixels(ImageIO.read(new ByteArrayInputStream(of.screenshot())));
  }

  /** What an element looks like. */
  private record Pixels(BufferedImage image) {
    private Map<Integer, Integer> counts() {
      var counts = new HashMap<Integer, Integer>();
      for (int y = 0; y < image.getHeight(); y++) {
        for (int x = 0; x < image.getWidth(); x++) {
          counts.merge(image.getRGB(x, y), 1, Integer::sum);
        }
      }
      return counts;
    }

    private double all() {
      return (double) image.getWidth() * image.getHeight();
    }

    /** The most frequent colour. */
    int main() {
      return counts().entrySet().stream().max(Map.Entry.comparingByValue()).orElseThrow().getKey();
    }

    double shareOf(int colour) {
      return counts().getOrDefault(colour, 0) / all();
    }

    /** The contrast of the colour that differs most, if it is more than an edge. */
    double strongest(int from) {
      return counts().entrySet().stream()
          .filter(colour -> colour.getValue() / all() > PART_MIN)
          .mapToDouble(colour -> contrast(colour.getKey(), from))
          .max()
          .orElse(1);
    }

    /** The share of pixels that differ by more than that. */
    double shareOver(int from, double least) {
      return counts().entrySet().stream()
              .filter(colour -> contrast(colour.getKey(), from) > least)
              .mapToInt(Map.Entry::getValue)
              .sum()
          / all();
    }

    /** The strongest contrast on the outermost row of pixels. */
    double edgeContrast(int from) {
      double most = 1;
      for (int x = 0; x < image.getWidth(); x++) {
        most = Math.max(most, contrast(image.getRGB(x, 0), from));
      }
      return most;
    }
  }

  /** The contrast ratio of WCAG 2.2. */
  private static double contrast(int one, int other) {
    double a = luminance(one);
    double b = luminance(other);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }

  private static double luminance(int rgb) {
    return 0.2126 * linear(rgb >> 16 & 0xff)
        + 0.7152 * linear(rgb >> 8 & 0xff)
        + 0.0722 * linear(rgb & 0xff);
  }

  private static double linear(int channel) {
    double value = channel / 255.0;
    return value <= 0.04045 ? value / 12.92 : Math.pow((value + 0.055) / 1.055, 2.4);
  }
}
