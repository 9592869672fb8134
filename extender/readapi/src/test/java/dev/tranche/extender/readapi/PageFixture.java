package dev.tranche.extender.readapi;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static dev.tranche.extender.readapi.ScriptedApi.bound;
import static dev.tranche.extender.readapi.ScriptedApi.gpu;
import static dev.tranche.extender.readapi.ScriptedApi.held;
import static dev.tranche.extender.readapi.ScriptedApi.snapshot;
import static dev.tranche.extender.readapi.ScriptedApi.waiting;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.AriaRole;
import com.microsoft.playwright.options.ColorScheme;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;

/** A page in a real browser, on an API that says what a test wants. */
@Tag("slow")
abstract class PageFixture {
  static final String HOSTILE = "<script>alert(1)</script>";
  @AutoClose private static Chromium chromium;
  final Vertx vertx = Vertx.vertx();
  final ScriptedApi api = new ScriptedApi(vertx);

  /** What no test may cause. */
  private final Queue<String> forbidden = new ConcurrentLinkedQueue<>();

  Page page;

  @BeforeAll
  static void open() throws Exception {
    chromium = new Chromium();
  }

  @BeforeEach
  void cluster() {
    page = newPage(1280, 800, ColorScheme.LIGHT);
    var busy = held(gpu("node-a", 0, 92), "team-a", "trainer");
    var unknown = gpu("node-a", 1, -1);
    var broken =
        gpu("node-b", 0, 3)
            .put("model", "Tesla T4")
            .put("health", "Unhealthy")
            .put("largestShareReplicas", 0)
            .put("healthReason", "XID 79: the GPU has fallen off the bus");
    api.snapshot =
        snapshot(
            List.of(busy, unknown, broken),
            List.of(
                bound("team-a", "trainer", "100m"),
                bound("team-b", "server", "490m"),
                waiting(
                    "team-a", HOSTILE, "the node's GPUs have too little measured free memory")));
    api.pod = waiting("team-a", "x", "").put("annotations", new JsonObject());
  }

  @AfterEach
  void nothingForbidden_wasDone() {
    page.context().close();
    api.close();
    vertx.close().await();
    assertThat(forbidden).isEmpty();
  }

  Page newPage(int width, int height, ColorScheme theme) {
    var options =
        new Browser.NewContextOptions().setViewportSize(width, height).setColorScheme(theme);
    Page opened = chromium.browser.newContext(options).newPage();
    opened.setDefaultTimeout(20_000);
    opened.onPageError(error -> forbidden.add("error: " + error));
    opened.onDialog(dialog -> forbidden.add("dialog: " + dialog.message()));
    opened.onConsoleMessage(
        message -> {
          if (message.text().contains("Content Security Policy")) {
            forbidden.add(message.text());
          }
        });
    opened.onRequest(
        request -> {
          if (!request.url().startsWith("http://127.0.0.1:")
              && !request.url().startsWith("data:")) {
            forbidden.add("elsewhere: " + request.url());
          }
        });
    return opened;
  }

  void go(String query) {
    page.navigate("http://127.0.0.1:" + api.port() + "/" + query);
  }

  Locator cell(String name) {
    return page.getByRole(AriaRole.BUTTON, new Page.GetByRoleOptions().setName(name));
  }

  Locator cells() {
    return page.locator(".cell");
  }
}
