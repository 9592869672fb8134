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

  private String origin = "";

  private Page page;

  @BeforeEach
  void open() throws IOException {
    PlaywrightAssertions.setDefaultAssertionTimeout(PATIENCE_MS);
    chromium = new Chromium(Path.of(".."));
    var extender = tranche().parts("extender").getFirst().getMetadata().getName();
    forward =
        client().pods().inNamespace(Tranche.NAMESPACE).withName(extender).portForward(LOCAL_PORT);
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

  /** PageIT has the rest, with answers that are written for it. */
  @Test
  void page_showsTheCluster_andWhyAPodWaits() {
    page.navigate(origin);
    assertThat(page.locator(".cell")).hasCount(6);
    page.navigate(origin + "?q=ns:" + namespace);
    assertThat(page.locator(".cell")).hasCount(2);
    page.navigate(origin + "?pod=" + namespace + "/one");
    Locator drawer = page.getByRole(AriaRole.DIALOG);
    assertThat(drawer).containsText("Why it is there");
    page.navigate(origin + "?view=waste");
    assertThat(page.locator(".owner h2").getByText(namespace)).hasCount(1);

    page.navigate(origin + "?view=waiting&q=" + namespace);
    Locator main = page.locator("main");
    assertThat(main).containsText(namespace + "/three");
    assertThat(main).containsText("no single GPU has enough");
    assertThat(main).containsText(HOSTILE);
    assertThat(page.locator(".hint"))
        .containsText("0.2 of a GPU (2 of 10 replicas), such as on alpha");
    assertThat(page.locator("main script")).hasCount(0);
    delete("one");
    assertThat(main).containsText("No pod waits for a GPU here");
  }
}
