package dev.tranche.extender.readapi;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static dev.tranche.extender.readapi.ScriptedApi.bound;
import static dev.tranche.extender.readapi.ScriptedApi.gpu;
import static dev.tranche.extender.readapi.ScriptedApi.history;
import static dev.tranche.extender.readapi.ScriptedApi.measured;
import static dev.tranche.extender.readapi.ScriptedApi.snapshot;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.options.AriaRole;
import com.microsoft.playwright.options.ColorScheme;
import dev.tranche.extender.readapi.query.Problem;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpServer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.URLEncoder;
import java.nio.file.Files;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The web page in a real browser, whatever the API says. */
final class PageIT extends PageFixture {
  private static String axe;

  @BeforeAll
  static void read() throws Exception {
    axe = Files.readString(Chromium.axe());
  }

  @Test
  void map_hasACellForEachGpu_withItsShareLoadAndState() {
    go("");
    assertThat(cells()).hasCount(3);
    Locator busy = cell("node-a GPU 0");
    assertThat(busy).hasAccessibleName(Pattern.compile("5 of 10 granted, load 92"));
    assertThat(busy.locator(".part")).hasCount(2);
    assertThat(busy.locator(".part.ns")).hasText("trainer0.5");
    assertThat(busy.locator(".part.free")).hasText("0.5 free");
    assertThat(busy.locator(".bar.sm i")).hasAttribute("style", Pattern.compile("height: 92%"));
    Locator unknown = cell("node-a GPU 1");
    assertThat(unknown.locator(".bar.sm")).hasClass(Pattern.compile("none"));
    assertThat(unknown.locator(".part.unknown")).hasText("0.5 pod unknown");
    Locator broken = cell("node-b GPU 0");
    assertThat(broken).hasAccessibleName(Pattern.compile("unhealthy"));
    assertThat(broken).containsText("unhealthy");
    assertThat(broken.locator(".part.blocked")).hasText("0.5 not usable");
  }

  private static JsonObject changed(String node, int index, String uuid) {
    return new JsonObject().put("node", node).put("index", index).put("uuid", uuid);
  }

  @Test
  void devicesOfOneIndex_areKnownByTheirUuids() {
    api.snapshot =
        snapshot(
            List.of(
                gpu("node-a", 0, 22).put("uuid", "MIG-2"),
                gpu("node-a", 0, 11).put("uuid", "MIG-1")),
            List.of());
    go("");
    assertThat(cells().first()).containsText("11");
    var first = changed("node-a", 0, "MIG-1").put("measured", measured(33));
    var second = changed("node-a", 0, "MIG-2").put("measured", measured(44));
    api.change(new JsonObject().put("gpus", new JsonArray().add(second).add(first)));
    assertThat(cells().first()).containsText("33");
    assertThat(cells().last()).containsText("44");
    assertThat(cells()).hasCount(2);
    cells().last().click();
    assertThat(page.locator(".drawer")).containsText("MIG-2");
    assertThat(page.url()).contains("gpu=node-a%2FMIG-2");
    page.reload();
    assertThat(page.locator(".drawer")).containsText("MIG-2");
  }

  @Test
  void changes_areShown() {
    go("");
    assertThat(cells()).hasCount(3);
    var change = changed("node-a", 0, "GPU-node-a-0");
    api.change(
        new JsonObject()
            .put("gpus", new JsonArray().add(change.put("measured", measured(17))))
            .put("gpusRemoved", new JsonArray().add("node-b/GPU-node-b-0")));
    assertThat(cell("node-a GPU 0")).containsText("17");
    assertThat(cells()).hasCount(2);
    api.change(
        new JsonObject()
            .put(
                "gpus",
                new JsonArray().add(change.copy().putNull("measured")).add(gpu("c", 0, 1))));
    assertThat(cell("node-a GPU 0").locator(".bar.sm")).hasClass(Pattern.compile("none"));
    assertThat(cells()).hasCount(3);
  }

  @Test
  void changeOfOneGpu_touchesNoOtherCell() {
    api.snapshot =
        snapshot(
            IntStream.range(0, 1_000).mapToObj(i -> gpu("node-" + i / 8, i % 8, i % 100)).toList(),
            List.of());
    go("");
    assertThat(page.locator(".cell[tabindex='0']")).hasCount(1);
    page.evaluate(
        """
        () => {
          window.touched = new Set();
          new MutationObserver(all => all.forEach(each => {
            const cell = (each.target.closest ? each.target : each.target.parentElement).closest('.cell');
            if (cell) touched.add(cell.dataset.key);
          })).observe(document.querySelector('.groups'),
              {subtree: true, attributes: true, childList: true, characterData: true});
        }\
        """);
    var change = changed("node-3", 1, "GPU-node-3-1");
    api.change(
        new JsonObject().put("gpus", new JsonArray().add(change.put("measured", measured(77)))));
    assertThat(cell("node-3 GPU 1,")).hasAccessibleName(Pattern.compile("load 77"));
    assertThat((List<?>) page.evaluate("[...touched]")).isEqualTo(List.of("node-3/GPU-node-3-1"));
  }

  @Test
  void pointerAndFocus_showTheSameCard() {
    go("");
    cell("node-b GPU 0").hover();
    Locator card = page.locator(".card");
    assertThat(card).containsText("5 of 10");
    assertThat(card).containsText("XID 79");
    page.mouse().move(0, 0);
    assertThat(card).hasCount(0);
    cell("node-b GPU 0").focus();
    assertThat(card).containsText("XID 79");
  }

  @ParameterizedTest
  @CsvSource({
    "load>80, 1",
    "model:h100, 2",
    "ns:team-a, 1",
    "health:unhealthy, 1",
    "health:healthy, 2",
    "node=node-a, 2",
    "node=node, 0",
    "node-a load<95, 1",
    "GPU-node-b-0, 1",
  })
  void filter_narrowsTheMap_andIsInTheUrl(String text, int left) {
    go("");
    assertThat(cells()).hasCount(3);
    page.keyboard().press("/");
    page.keyboard().type(text);
    assertThat(cells()).hasCount(left);
    String url = page.url();
    page.reload();
    assertThat(page.url()).isEqualTo(url);
    assertThat(cells()).hasCount(left);
  }

  @ParameterizedTest
  @ValueSource(strings = {"colour:red", "colour>1", "constructor:x", "constructor>1"})
  void filter_saysWhatItDoesNotKnow(String text) {
    go("?q=" + URLEncoder.encode(text, UTF_8));
    assertThat(page.getByRole(AriaRole.ALERT))
        .containsText("\"%s\" is not a filter. Allowed: text, model:".formatted(text));
  }

  @Test
  void filter_saysWhenNothingIsLeft() {
    go("?q=nothing");
    page.getByText("Clear the filter").click();
    assertThat(cells()).hasCount(3);
  }

  @Test
  void keyboard_movesOpensAndCloses() {
    go("");
    assertThat(cells()).hasCount(3);
    cell("node-a GPU 0").focus();
    page.keyboard().press("ArrowRight");
    assertThat(cell("node-a GPU 1")).isFocused();
    page.keyboard().press("ArrowRight");
    page.keyboard().press("Enter");
    assertThat(page.getByRole(AriaRole.DIALOG)).containsText("XID 79");
    assertThat(page.url()).contains("gpu=node-b%2FGPU-node-b-0");
    page.keyboard().press("Escape");
    assertThat(cell("node-b GPU 0")).isFocused();
    page.keyboard().press("?");
    assertThat(page.locator("dialog")).isVisible();
    page.keyboard().press("Escape");
    assertThat(page.locator("dialog")).isHidden();
  }

  @Test
  void tab_entersTheMapOnce() {
    go("");
    assertThat(page.locator(".cell[tabindex='0']")).hasCount(1);
  }

  @Test
  void links_openWhatTheySay_andBackGoesBack() {
    go("?gpu=node-a/GPU-node-a-0");
    Locator drawer = page.locator(".drawer");
    assertThat(drawer).containsText("GPU-node-a-0");
    drawer.getByText("team-a/trainer").click();
    assertThat(drawer).containsText("0.5 GPU");
    page.goBack();
    assertThat(drawer).containsText("GPU-node-a-0");
    go("?gpu=gone/7");
    assertThat(drawer).containsText("is not there");
  }

  @Test
  void waiting_saysWhy_andHostileNamesAreText() {
    go("?view=waiting");
    Locator main = page.locator("main");
    assertThat(main).containsText("team-a/" + HOSTILE);
    assertThat(main).containsText("too little measured free memory");
    main.getByText(HOSTILE).click();
    assertThat(page.locator(".drawer")).containsText(HOSTILE);
    assertThat(page.locator("main script")).hasCount(0);
  }

  @Test
  void waitingPod_saysWhatWouldFit() {
    var share = new JsonObject().put("replicas", 4).put("replicasPerGpu", 12).put("node", "a");
    api.pod.put("decision", decision("").put("smallerShare", share));
    go("?view=waiting");
    assertThat(page.locator(".hint"))
        .containsText("if it requested 0.33 of a GPU (4 of 12 replicas), such as on a");
    check("smaller-share");
  }

  @Test
  void waste_beginsWithTheOwnerThatUsesLeast() {
    go("?view=waste");
    assertThat(page.locator(".owner h2")).hasText(new String[] {"team-a", "team-b"});
    assertThat(page.locator(".owner").first()).containsText("0.4 of 0.5 GPUs not used");
  }

  /**
   * Memory that is not measured is not unused, and used, unused and unknown sum to what is held.
   */
  @Test
  void waste_tellsWhatIsNotMeasured() {
    var unmeasured = bound("team-a", "quiet", "0");
    unmeasured.remove("used");
    var halfKnown = bound("team-a", "half", "100m");
    halfKnown.getJsonObject("used").remove("memory");
    api.snapshot =
        snapshot(
            List.of(gpu("node-a", 0, 50)),
            List.of(bound("team-a", "trainer", "100m"), unmeasured, halfKnown));
    go("?view=waste");
    Locator owner = page.locator(".owner").first();
    assertThat(owner).containsText("0.8 of 1.5 GPUs not used · 0.2 used · 0.5 not measured");
    assertThat(owner).containsText("30 GiB of 40 GiB memory not used · 80 GiB memory not measured");
    assertThat(owner).containsText("holds 0.5, not measured");
  }

  @Test
  void boundPodOfANodeThatHasNotReported_isNotShownAsHoldingNothing() {
    var early = ScriptedApi.pod("team-a", "early", "Bound").put("node", "new-node");
    api.snapshot = snapshot(List.of(gpu("node-a", 0, 50)), List.of(early));
    api.pod = early.copy().put("annotations", new JsonObject());
    go("?pod=team-a/early");
    assertThat(page.locator(".drawer"))
        .containsText("not known: the node has not reported which GPU it holds");
    go("?view=waste");
    assertThat(page.locator("main")).containsText("1 bound pod not counted");
  }

  @Test
  void waste_beginsWithTheSum() {
    api.snapshot =
        snapshot(
            List.of(gpu("node-a", 0, 50)),
            List.of(bound("team-a", "trainer", "100m"), bound("team-b", "server", "300m")));
    go("?view=waste");
    assertThat(page.locator("main"))
        .containsText("In all, 0.6 of 1 GPUs that pods hold are not used now");
  }

  @Test
  void arrowsAndEnter_workAfterLoading() {
    go("");
    assertThat(page.locator(".cell[tabindex='0']")).hasCount(1);
    page.keyboard().press("ArrowRight");
    assertThat(cells().first()).isFocused();
    page.keyboard().press("ArrowRight");
    assertThat(cells().nth(1)).isFocused();
    page.keyboard().press("Enter");
    assertThat(page.locator(".drawer")).containsText("node-a GPU 1");
  }

  @Test
  void arrowsAndEnter_workInTheTable() {
    go("?as=table");
    Locator links = page.locator("tbody a");
    assertThat(links).hasCount(3);
    page.keyboard().press("ArrowDown");
    assertThat(links.first()).isFocused();
    page.keyboard().press("ArrowDown");
    assertThat(links.nth(1)).isFocused();
    page.keyboard().press("ArrowUp");
    page.keyboard().press("ArrowRight");
    page.keyboard().press("Enter");
    assertThat(page.locator(".drawer")).containsText("node-a GPU 1");
  }

  @Test
  void unknownView_isSaid_untilAnotherIsChosen() {
    go("?view=bogus");
    assertThat(page.locator(".notice")).hasText("view is \"bogus\"; allowed: map, waiting, waste");
    assertThat(cells()).hasCount(3);
    page.locator("nav a").last().click();
    assertThat(page.locator(".notice")).hasCount(0);
  }

  @Test
  void drawerOfAPod_beginsWithWhy() {
    api.pod.put("decision", decision("it went to the emptiest"));
    go("?pod=team-b/server");
    Locator drawer = page.locator(".drawer");
    assertThat(drawer)
        .containsText(
            Pattern.compile("Why it is there.*it went to the emptiest.*State", Pattern.DOTALL));
    api.snapshot = snapshot(List.of(), List.of(ScriptedApi.waiting("team-a", "w", "no room")));
    go("?pod=team-a/w");
    assertThat(drawer)
        .containsText(Pattern.compile("Why it waits.*Memory: no room", Pattern.DOTALL));
  }

  @Test
  void twoGpus_areNotStretchedOverARow() {
    api.snapshot = snapshot(List.of(gpu("a", 0, 1), gpu("a", 1, 2)), List.of());
    go("");
    assertThat(cells()).hasCount(2);
    double between = cells().last().boundingBox().x - cells().first().boundingBox().x;
    assertThat(between).isLessThan(cells().first().boundingBox().width + 20);
  }

  @Test
  void table_hasTheSameRows() {
    go("");
    page.getByText("Table").click();
    assertThat(page.locator("tbody tr")).hasCount(3);
    assertThat(page.locator("tbody tr").first()).containsText("92");
    assertThat(page.locator("tbody tr").nth(1)).containsText("no reading yet");
  }

  @Test
  void lostConnection_isSaid_withTheAgeOfWhatIsShown() {
    go("");
    assertThat(cells()).hasCount(3);
    api.answer = ScriptedApi.Answer.CLOSED;
    api.closeWaiting();
    assertThat(page.locator(".notice")).containsText("Connection lost");
    assertThat(page.locator(".notice")).containsText(Pattern.compile("This is \\d+ s old"));
    assertThat(cells()).hasCount(3);
    api.answer = ScriptedApi.Answer.WHOLE;
    assertThat(page.locator(".notice")).hasCount(0);
    assertThat(page.locator(".status")).hasText("live");
  }

  @Test
  void token_isAskedForAndSent() {
    api.refusal = Problem.unauthorized("send a token");
    api.authorization = "Bearer secret";
    go("");
    assertThat(page.locator("form")).containsText("requires a token");
    assertThat(page.locator("form")).not().containsText("tranche");
    check("token");
    page.getByLabel("Token").fill("secret");
    page.keyboard().press("Enter");
    assertThat(cells()).hasCount(3);
    assertThat(page.url()).doesNotContain("secret");
    page.reload();
    assertThat(cells()).hasCount(3);
  }

  @Test
  void answerThatDoesNotCome_isAskedForAgain() throws Exception {
    page.clock().install();
    api.answer = ScriptedApi.Answer.NONE;
    go("");
    api.unfinished.acquire();
    page.clock().fastForward(30_000);
    assertThat(page.locator("main")).containsText("The extender does not answer");
    api.answer = ScriptedApi.Answer.WHOLE;
    assertThat(cells()).hasCount(3);

    api.answer = ScriptedApi.Answer.HEAD_ONLY;
    api.unfinished.drainPermits();
    api.closeWaiting();
    api.unfinished.acquire();
    api.answer = ScriptedApi.Answer.WHOLE;
    page.clock().fastForward(30_000);
    assertThat(page.locator(".status")).hasText("live");
  }

  @Test
  void answerToAnOldToken_isNotHeeded() throws Exception {
    api.refusal = Problem.unauthorized("send a token");
    go("");
    assertThat(page.locator("form")).containsText("requires a token");
    api.refusal = Problem.of(403, "Forbidden", "no");
    for (var answer : List.of(ScriptedApi.Answer.HEAD_ONLY, ScriptedApi.Answer.NONE)) {
      api.answer = answer;
      page.getByLabel("Token").fill("token-" + answer);
      page.keyboard().press("Enter");
      api.unfinished.acquire();
    }
    assertThat(page.locator("form")).containsText("requires a token");
    assertThat(page.locator("main")).not().containsText("No permission");
  }

  @Test
  void decision_staysWhereTheExtenderIsBusy_andIsNotAskedForUnseen() {
    page.clock().install();
    api.pod.put("decision", decision("it went to the emptiest"));
    go("?pod=team-b/server");
    Locator drawer = page.locator(".drawer");
    assertThat(drawer).containsText("it went to the emptiest");
    api.podRefusal = Problem.tooMany("retry in a second");
    for (int i = 0; i < 2; i++) {
      page.waitForResponse(
          answer -> answer.status() == 429, () -> page.clock().fastForward(10_000));
    }
    assertThat(drawer).containsText("it went to the emptiest");

    api.podRefusal = null;
    api.pod = api.pod.copy().put("decision", decision("it went to the fullest"));
    page.clock().fastForward(10_000);
    assertThat(drawer).containsText("it went to the fullest");

    page.evaluate(
        """
        Object.defineProperty(document, 'hidden', {value: true, configurable: true});
        document.dispatchEvent(new Event('visibilitychange'))\
        """);
    var asked = new ConcurrentLinkedQueue<String>();
    page.onRequest(request -> asked.add(request.url()));
    page.clock().fastForward(10_000);
    page.clock().fastForward(10_000);
    assertThat(asked).isEmpty();
    page.evaluate("delete document.hidden");
    page.waitForRequest("**/pods/**", () -> page.clock().fastForward(10_000));
  }

  private static JsonObject decision(String note) {
    return new JsonObject()
        .put("policy", "load")
        .put("note", note)
        .put("fitted", new JsonArray())
        .put("fittedCount", 0)
        .put("refused", new JsonArray())
        .put("refusedCount", 0);
  }

  @Test
  void missingPermission_isSaid_withWhatToDo() {
    api.refusal = Problem.of(403, "Forbidden", "bind the ClusterRole tranche-viewer to it");
    go("");
    assertThat(page.locator("main")).containsText("No permission");
    assertThat(page.locator("main")).containsText("bind the ClusterRole tranche-viewer");
    check("forbidden");
  }

  @Test
  void clusterThatIsNotReadYet_isTriedAgain() {
    api.refusal = Problem.unavailable("the cluster is not read yet");
    go("");
    assertThat(page.locator("main")).containsText("the cluster is not read yet");
    api.refusal = null;
    assertThat(cells()).hasCount(3);
  }

  @Test
  void clusterWithoutGpus_saysWhereToLook() {
    api.snapshot = snapshot(List.of(), List.of());
    go("");
    assertThat(page.locator("main")).containsText("No node has reported a GPU yet");
    // The chart may have another name.
    assertThat(page.locator("main code")).not().containsText("tranche");
    check("empty");
    go("?view=waiting");
    assertThat(page.locator("main")).containsText("No pod waits for a GPU");
  }

  @Test
  void manyGpus_areShownByNode_andANodeOpens() {
    api.snapshot =
        snapshot(
            IntStream.range(0, 8_000).mapToObj(i -> gpu("node-" + i / 8, i % 8, i % 100)).toList(),
            List.of());
    go("");
    assertThat(cells()).hasCount(1_000);
    cell("node-77,").click();
    assertThat(
            page.locator("h2").getByText("node-77", new Locator.GetByTextOptions().setExact(true)))
        .isVisible();
    assertThat(cell("node-77 GPU 7")).isVisible();
  }

  @ParameterizedTest
  @ValueSource(ints = {390, 1280, 2560})
  void widths_needNoScrollingSideways_andTheFunnelIsAboveTheFold(int width) {
    page.context().close();
    page = newPage(width, width == 390 ? 844 : width * 10 / 16, ColorScheme.LIGHT);
    for (String view : List.of("", "?view=waiting", "?view=waste", "?group=namespace")) {
      go(view);
      assertThat(page.locator(".headline li")).hasCount(4);
      assertThat(page.locator(".headline")).isInViewport();
      assertThat(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
          .as(view)
          .isEqualTo(true);
    }
  }

  @Test
  void behindAPathPrefix_allIsFound() {
    HttpClient client = vertx.createHttpClient();
    HttpServer proxy =
        vertx
            .createHttpServer()
            .requestHandler(
                request ->
                    client
                        .request(
                            request.method(),
                            api.port(),
                            "127.0.0.1",
                            request.uri().replaceFirst("^/gpus/", "/"))
                        .compose(out -> out.send())
                        .onSuccess(
                            in -> {
                              request.response().headers().addAll(in.headers());
                              in.pipeTo(request.response());
                            }))
            .listen(0, "127.0.0.1")
            .await();
    page.navigate("http://127.0.0.1:%d/gpus/?view=waiting".formatted(proxy.actualPort()));
    assertThat(page.locator(".waiters > li")).hasCount(1);
    page.getByText("Map").click();
    assertThat(cells()).hasCount(3);
    assertThat(page.url()).contains("/gpus/");
    page.context().close();
    client.close();
    proxy.close();
  }

  @ParameterizedTest
  @CsvSource({
    "LIGHT, ''", "LIGHT, ?as=table", "LIGHT, ?view=waiting", "LIGHT, ?view=waste",
        "LIGHT, ?gpu=node-a/GPU-node-a-0",
    "DARK, ''", "DARK, ?as=table", "DARK, ?view=waiting", "DARK, ?view=waste",
        "DARK, ?gpu=node-b/GPU-node-b-0",
  })
  void axe_findsNothing(ColorScheme theme, String query) {
    page.context().close();
    page = newPage(1280, 800, theme);
    api.history = history("GPU", HistoryPageIT.hour());
    go(query);
    assertThat(page.locator(".headline li")).hasCount(4);
    assertThat(page.locator(".history canvas")).hasCount(query.contains("gpu=") ? 1 : 0);
    check(query);
  }

  private void check(String what) {
    page.evaluate(axe);
    Object found =
        page.evaluate(
            "axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html)))");
    assertThat((List<?>) found).as(what).isEmpty();
  }
}
