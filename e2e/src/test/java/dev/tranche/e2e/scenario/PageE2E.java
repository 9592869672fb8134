package dev.tranche.e2e.scenario;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.assertions.PlaywrightAssertions;
import com.microsoft.playwright.options.AriaRole;
import com.microsoft.playwright.options.ColorScheme;
import dev.tranche.api.Names;
import dev.tranche.e2e.browser.Chromium;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.client.LocalPortForward;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** The web page of the extender in the cluster, in a real browser by a port-forward. */
@Order(26)
class PageE2E extends Scenario {
  private static final int LOCAL_PORT = 9445;
  private static final String HOSTILE = "!<script>document.title=1</script>";
  private static final double PATIENCE_MS = 20_000;

  private final Queue<String> forbidden = new ConcurrentLinkedQueue<>();
  private Chromium chromium;
  private LocalPortForward forward;

  /** The same after the forward has ended. */
  private String origin = "";

  private Page page;

  @BeforeEach
  void open() throws IOException {
    PlaywrightAssertions.setDefaultAssertionTimeout(PATIENCE_MS);
    chromium = new Chromium(Path.of(".."));
    forward = forward(0);
    origin = "http://127.0.0.1:" + forward.getLocalPort() + "/";
    var options =
        new Browser.NewContextOptions()
            .setViewportSize(1280, 900)
            .setColorScheme(ColorScheme.LIGHT);
    page = chromium.browser().newContext(options).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    page.onPageError(forbidden::add);
    page.onDialog(dialog -> forbidden.add("dialog: " + dialog.message()));
    page.onConsoleMessage(
        message -> {
          if (message.text().contains("Content Security Policy")) {
            forbidden.add(message.text());
          }
        });
    page.onRequest(
        request -> {
          if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) {
            forbidden.add("elsewhere: " + request.url());
          }
        });
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("one", "0.8")));
    create(PodSpecs.on(ALPHA, PodSpecs.fraction("two", "0.8")));
    allRunning(2);
    create(
        PodSpecs.on(
            ALPHA,
            PodSpecs.annotated(
                "three", Map.of(Names.GPU_FRACTION, "0.3", Names.GPU_MODEL, HOSTILE))));
    pendingMessage("three");
  }

  @AfterEach
  void close() throws IOException {
    chromium.close();
    forward.close();
    assertThat(forbidden).isEmpty();
  }

  /** 0: any port here. */
  private static LocalPortForward forward(int port) {
    var extender = tranche().parts("extender").getFirst().getMetadata().getName();
    var pod = tranche().client().pods().inNamespace(Tranche.NAMESPACE).withName(extender);
    return pod.portForward(LOCAL_PORT, port);
  }

  private String url(String query) {
    return origin + query;
  }

  @Test
  void views_showTheCluster_byFilterLinkAndKeyboard() {
    page.navigate(url(""));
    assertThat(page.locator(".cell")).hasCount(6);
    page.keyboard().press("/");
    page.keyboard().type("ns:" + namespace);
    assertThat(page.locator(".cell")).hasCount(2);
    page.locator(".cell").first().focus();
    page.keyboard().press("ArrowRight");
    page.keyboard().press("Enter");
    Locator drawer = page.getByRole(AriaRole.DIALOG);
    assertThat(drawer).containsText(Pattern.compile(namespace + "/(one|two)"));
    assertThat(drawer).containsText("8 of 10");
    page.reload();
    assertThat(drawer).containsText("8 of 10");
    page.keyboard().press("Escape");
    assertThat(drawer).hasCount(0);

    page.navigate(url("?pod=" + namespace + "/one"));
    assertThat(drawer).containsText("Why it is there");
    page.navigate(url("?view=waste"));
    assertThat(page.locator(".owner h2").getByText(namespace)).hasCount(1);
    page.screenshot(
        new Page.ScreenshotOptions().setPath(Path.of("target", "page-e2e", "waste.png")));
  }

  @Test
  void waitingPod_saysWhy_whatWouldFit_andHostileWordsAreText() {
    page.navigate(url("?view=waiting&q=" + namespace));
    Locator main = page.locator("main");
    assertThat(main).containsText(namespace + "/three");
    assertThat(main).containsText("no single GPU has enough");
    assertThat(main).containsText(HOSTILE);
    assertThat(page.locator(".hint"))
        .containsText("0.2 of a GPU (2 of 10 replicas), such as on alpha");
    assertThat(page.locator("main script")).hasCount(0);
    page.screenshot(
        new Page.ScreenshotOptions().setPath(Path.of("target", "page-e2e", "waiting.png")));
    delete("one");
    assertThat(main).containsText("No pod waits for a GPU here");
  }

  @Test
  void lostConnection_isSaid_andComesBack() throws IOException {
    page.navigate(url(""));
    assertThat(page.locator(".cell")).hasCount(6);
    int port = forward.getLocalPort();
    forward.close();
    assertThat(page.locator(".notice")).containsText("Connection lost");
    assertThat(page.locator(".notice")).containsText(Pattern.compile("This is \\d+ s old"));
    assertThat(page.locator(".cell")).hasCount(6);
    forward = forward(port);
    assertThat(page.locator(".notice")).hasCount(0);
  }
}
