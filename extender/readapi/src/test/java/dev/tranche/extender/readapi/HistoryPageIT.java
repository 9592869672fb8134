package dev.tranche.extender.readapi;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static dev.tranche.extender.readapi.ScriptedApi.history;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What the page shows of the last hours of a GPU. */
final class HistoryPageIT extends PageFixture {
  @Test
  void lastHours_areAPlot_withGapsAndASentence() {
    api.history = history("GPU-node-a-0", hour());
    go("?gpu=node-a/GPU-node-a-0");
    Locator plot = page.locator(".history");
    assertThat(plot.locator("canvas")).isVisible();
    assertThat(plot.locator("figcaption"))
        .containsText(
            Pattern.compile(
                "SM load 40\\s% on average and 75\\s% at most, memory 20 GiB at most,"
                    + " granted 50\\s% on average. 33\\s% of the time has no reading"));
    assertThat(plot.locator(".series")).containsText(Pattern.compile("SM load 60"));
    // Where the line of the load is, from the left: an island of 20 minutes at each end.
    List<?> columns = (List<?>) page.evaluate(COLUMNS_OF_THE_ACCENT);
    assertThat(columns).hasSize(2);

    plot.locator(".u-over").hover(new Locator.HoverOptions().setPosition(20, 20));
    assertThat(plot.locator(".series")).containsText(Pattern.compile("SM load 20"));

    api.history = history("GPU-node-a-0", -1, -1);
    page.reload();
    assertThat(plot).containsText(Pattern.compile("granted 50\\s% on average, without a reading"));
    assertThat(plot.locator(".series")).containsText("SM load –");
  }

  static int[] hour() {
    return IntStream.range(0, 60).map(i -> i < 20 ? 20 : i < 40 ? -1 : 60).toArray();
  }

  /** Runs of the canvas's columns that have a pixel of the accent. */
  private static final String COLUMNS_OF_THE_ACCENT =
      """
      () => {
        const canvas = document.querySelector('.history canvas');
        const {data, width, height} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const runs = [];
        let last = -9;
        for (let x = 0; x < width; x++) {
          for (let y = 0; y < height; y++) {
            const at = (y * width + x) * 4;
            if (data[at + 3] > 200 && Math.hypot(data[at] - 11, data[at + 1] - 87, data[at + 2] - 176) < 30) {
              if (x - last > 9) runs.push(x);
              last = x;
              break;
            }
          }
        }
        return runs;
      }\
      """;

  @Test
  void lastHours_areAskedForWhileTheyAreSeen() {
    page.clock().install();
    api.history = history("GPU-node-a-0", hour());
    var asked = new ConcurrentLinkedQueue<String>();
    page.onRequest(
        request -> {
          if (request.url().contains("/history")) {
            asked.add(request.url());
          }
        });
    go("");
    assertThat(cells()).hasCount(3);
    page.clock().fastForward(60_000);
    assertThat(cells()).hasCount(3);
    assertThat(asked).isEmpty();

    cell("node-a GPU 0").click();
    assertThat(page.locator(".history canvas")).isVisible();
    assertThat(asked).hasSize(1).allMatch(url -> url.endsWith("?node=node-a&uuid=GPU-node-a-0"));
    page.clock().fastForward(9_000);
    assertThat(page.locator(".history canvas")).isVisible();
    assertThat(asked).hasSize(1);
    api.history = history("GPU-node-a-0", 11);
    page.waitForResponse("**/history?**", () -> page.clock().fastForward(10_000));
    assertThat(page.locator(".history .series")).containsText("SM load 11");

    page.keyboard().press("Escape");
    assertThat(page.locator(".history")).hasCount(0);
    // Preact clears up after the next frame.
    page.clock().runFor(1_000);
    int before = asked.size();
    page.clock().fastForward(60_000);
    assertThat(cells()).hasCount(3);
    assertThat(asked).hasSize(before);
  }

  @Test
  void gpuWithoutHistory_saysSo() {
    go("?gpu=node-a/GPU-node-a-0");
    assertThat(page.locator(".drawer")).containsText("nothing was recorded of it");
  }
}
