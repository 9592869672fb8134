package dev.tranche.extender.readapi;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static dev.tranche.extender.readapi.ScriptedApi.snapshot;
import static dev.tranche.extender.readapi.ScriptedApi.waiting;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.ColorScheme;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Each GPU as the stack of its pods, the headline, and the waiting pods below the map. */
final class StackIT extends PageFixture {
  private static final String ADVICE = "Request 0.4 of each GPU: that fits on node-h100.";
  private static final String ALL_FULL =
      "all 3 nodes are full: the emptiest, node-h100, has 1.3 of 2 free";

  @BeforeEach
  void scene() {
    api.snapshot =
        snapshot(
                List.of(
                    Scene.gpu("node-a10g", 0, "NVIDIA A10G", 22, 50)
                        .pod("vision", "train", 5, 41, 3)
                        .pod("ports", "portholder", 2, 5, 1)
                        .pod("ports", "urgent", 2, 4, 1)
                        .row(),
                    Scene.gpu("node-a10g", 1, "NVIDIA A10G", 22, 30)
                        .pod("vision", "train-2", 5, 20, 4)
                        .pod("vision", "embed", 5, 10, 5)
                        .row(),
                    Scene.gpu("node-h100", 0, "NVIDIA H100 80GB HBM3", 79, 0)
                        .idle("nlp", "finetune", 6, 41)
                        .row(),
                    Scene.gpu("node-h100", 1, "NVIDIA H100 80GB HBM3", 79, 0)
                        .idle("mine", "notebook", 1, 41)
                        .nobodysGib(29)
                        .usable(5)
                        .row(),
                    Scene.gpu("node-t4", 0, "Tesla T4", 15, 92)
                        .pod("web", "chat", 3, 62, 3)
                        .pod("web", "rerank", 4, 30, 4)
                        .row(),
                    Scene.gpu("node-t4", 1, "Tesla T4", 15, 0)
                        .idle("web", "legacy", 10, 191)
                        .row()),
                List.of(
                    waiting("newcomer", "frag", "no node has two GPUs with 0.6 free", ADVICE)
                        .put("requested", ScriptedApi.requested(2, "600m")),
                    waiting("newcomer", "big-6b7c9d8f4x-2k4pz", ALL_FULL)
                        .put("requested", ScriptedApi.requested(2, "1")),
                    waiting("newcomer", "big-6b7c9d8f4x-9xkqp", ALL_FULL)
                        .put("requested", ScriptedApi.requested(2, "1"))))
            .put("clusterName", "prod-gpu-eu1");
  }

  @Test
  void stack_hasAPartForEachPod_andWhatIsFree() {
    go("");
    Locator first = cell("node-a10g GPU 0");
    assertThat(first.locator(".part"))
        .hasText(
            new String[] {
              "portholder0.2 · 5\u00a0%", "urgent0.2 · 4\u00a0%", "train0.5 · 41\u00a0%", "0.1 free"
            });
    // A pod that does not work is striped, and the time stands with it.
    assertThat(cell("node-h100 GPU 0").locator(".part.idle")).hasText("finetune0.6 · idle 41 min");
    assertThat(page.locator(".part.idle")).hasCount(3);
    Locator taken = cell("node-h100 GPU 1");
    assertThat(taken).containsText("29.0 GiB used by no pod");
    // Hatched: nobody can have what measured memory does not leave.
    assertThat(taken.locator(".part.free")).hasText("0.5 free");
    assertThat(taken.locator(".part.blocked")).hasText("0.4 not usable");
    // The parts' heights are their shares.
    Object worst =
        page.evaluate(
            """
            Math.max(...[...document.querySelectorAll('.box')].map(box => {
              const parts = [...box.querySelectorAll('.part')];
              const all = parts.reduce((sum, part) => sum + Number(part.style.flexGrow), 0);
              return Math.abs(all - 1);
            }))\
            """);
    assertThat(((Number) worst).doubleValue()).isLessThan(0.001);
  }

  @Test
  void headline_countsWhatIsShown() {
    go("");
    Locator figures = page.locator(".headline li");
    assertThat(page.locator("h1")).hasText("prod-gpu-eu1");
    assertThat(figures.nth(0)).containsText("4.3 of 6 GPUs granted");
    assertThat(figures.nth(1)).containsText("0.5 largest share that fits now");
    assertThat(figures.nth(1)).containsText("0.3 on Tesla T4");
    assertThat(figures.nth(2)).containsText("1.7 GPUs granted and idle");
    assertThat(figures.nth(2)).containsText("web 1 · nlp 0.6 · mine 0.1");
    assertThat(figures.nth(3)).containsText("3 pods wait");
    assertThat(figures.nth(3)).containsText("oldest 10 min");
    go("?q=model:t4");
    assertThat(figures.nth(0)).containsText("1.7 of 2 GPUs granted, of those shown");
    assertThat(figures.nth(2)).containsText("1 GPU granted and idle");
    // Of a GPU that two namespaces share, only what the one holds.
    go("?q=ns:ports");
    assertThat(figures.nth(0)).containsText("0.4 of 1 GPU granted to the pods that match");
    assertThat(figures.nth(3)).containsText("0 pods wait");
  }

  @Test
  void mapByNamespace_countsOnlyItsOwnShares_andBlamesOnlyItsOwnPods() {
    go("?group=namespace");
    Locator ports = page.locator(".group").filter(new Locator.FilterOptions().setHasText("ports"));
    assertThat(ports.locator(".sub")).containsText("0.4 on 1 GPU · 0.1 used");
    assertThat(ports.locator(".part.others")).hasText("0.5 others");
    Locator mine =
        page.locator(".group").filter(new Locator.FilterOptions().setHasText("notebook"));
    assertThat(mine.locator(".sub")).not().containsText("overused");
    assertThat(mine.locator(".box")).not().hasClass("odd");
  }

  @Test
  void waitingPods_standBelowTheMap_inGroupsWithSizeAndAge() {
    go("");
    Locator rows = page.locator(".below .waiters > li");
    assertThat(rows).hasCount(2);
    Locator big = rows.filter(new Locator.FilterOptions().setHasText("2 pods"));
    assertThat(big).containsText("newcomer/big");
    assertThat(big).containsText("2 whole GPUs");
    assertThat(big).containsText("10 min");
    assertThat(big).containsText(ALL_FULL);
    assertThat(rows.filter(new Locator.FilterOptions().setHasText("frag")))
        .containsText("2 × 0.6 GPU");
    assertThat(rows.locator(".advice")).hasText(ADVICE);
  }

  @Test
  void drawer_doesNotHideWhatWasClicked() {
    for (int width : new int[] {390, 1280, 2560}) {
      page.context().close();
      page = newPage(width, 800, ColorScheme.LIGHT);
      go("");
      cell("node-t4 GPU 1").click();
      assertThat(page.locator(".drawer")).isVisible();
      page.waitForFunction(
          """
          () => {
            const cell = document.querySelector('.cell[data-open]')?.getBoundingClientRect();
            const drawer = document.querySelector('.drawer').getBoundingClientRect();
            return cell && cell.top >= 0 && cell.left >= 0
                && (cell.right <= drawer.left || cell.bottom <= drawer.top);
          }\
          """);
    }
  }

  /** The screenshots of docs/api.md#the-web-page. */
  @Test
  void pictures() {
    for (ColorScheme theme : List.of(ColorScheme.LIGHT, ColorScheme.DARK)) {
      page.context().close();
      page = newPage(1280, 760, theme);
      go("");
      assertThat(page.locator(".below .waiters > li")).hasCount(2);
      String name = "web-page-" + theme.name().toLowerCase(Locale.ROOT) + ".png";
      page.screenshot(new Page.ScreenshotOptions().setPath(Path.of("target", name)));
    }
  }

  @Test
  void firstReadingAndMean_haveTheirOwnNames() {
    JsonObject gpu = Scene.gpu("n", 0, "Tesla T4", 15, 20).row();
    gpu.getJsonObject("measured").put("smLast", "900m");
    api.snapshot = snapshot(List.of(gpu), List.of());
    go("?gpu=n/GPU-n-0");
    assertThat(cell("n GPU 0")).containsText("90");
    Locator drawer = page.locator(".drawer");
    assertThat(drawer).containsText("SM load, last reading90");
    assertThat(drawer).containsText("SM load, ten-second mean20");
  }
}
