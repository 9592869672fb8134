package dev.tranche.extender.readapi;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static dev.tranche.extender.readapi.ScriptedApi.snapshot;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.WaitUntilState;
import dev.tranche.extender.readapi.query.Problem;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A browser opens at most six connections to a host, and a hidden page leaves them to others. */
final class TabsIT extends PageFixture {
  private static final int PAGES = 8;

  @Test
  void eachTab_showsTheCluster_andFollowsItWhenItIsSeenAgain() {
    List<Page> tabs = new ArrayList<>();
    for (int i = 0; i < PAGES; i++) {
      Page tab = page.context().newPage();
      tab.navigate("http://127.0.0.1:" + api.port());
      assertThat(tab.locator(".cell")).hasCount(3);
      hide(tab, true);
      tabs.add(tab);
    }
    api.snapshot = snapshot(List.of(), List.of());
    hide(tabs.getFirst(), false);
    assertThat(tabs.getFirst().locator("main")).containsText("No node has reported a GPU yet");
    assertThat(tabs.getFirst().locator(".status")).hasText("live");
  }

  /** Without a window all tabs are visible. */
  private static void hide(Page tab, boolean hidden) {
    tab.evaluate(
        """
        hidden => {
          Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
          document.dispatchEvent(new Event('visibilitychange'));
        }\
        """,
        hidden);
  }

  @Test
  void hiddenTab_keepsTheFormForAToken() {
    api.refusal = Problem.unauthorized("send a token");
    go("");
    page.getByLabel("Token").fill("half a tok");
    hide(page, true);
    hide(page, false);
    assertThat(page.getByLabel("Token")).hasValue("half a tok");
  }

  @Test
  void eachLoadInOneTab_showsTheCluster_andSoDoesThePageBefore() {
    for (int i = 0; i < PAGES; i++) {
      go("?load=" + i);
      assertThat(cells()).hasCount(3);
    }
    page.evaluate("window.kept = true");
    go("?load=last");
    api.snapshot = snapshot(List.of(), List.of());
    // A page from the cache is not loaded again.
    page.goBack(new Page.GoBackOptions().setWaitUntil(WaitUntilState.COMMIT));
    assertThat(page.locator("main")).containsText("No node has reported a GPU yet");
    assertThat(page.locator(".status")).hasText("live");
    assertThat(page.evaluate("window.kept")).isEqualTo(true);
  }
}
