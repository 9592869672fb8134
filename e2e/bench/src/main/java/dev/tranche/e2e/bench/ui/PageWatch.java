package dev.tranche.e2e.bench.ui;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.CDPSession;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import dev.tranche.e2e.browser.Chromium;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/** The page in a browser tab of its own, and the browser's measurements of it. */
public final class PageWatch implements AutoCloseable {
  /** An interaction that the browser does not report took at most this long. */
  public static final double UNREPORTED_MS = 16;

  /** A pause like a user's, long enough that one interaction does not affect the next. */
  private static final int PAUSE_MS = 200;

  /** Runs before the page's own code. */
  private static final String OBSERVERS =
      """
      (() => {
        const seen = { firstMapMs: 0, longTasks: [], interactions: {}, updatesMs: [] };
        window.seen = seen;
        const observe = (type, each, more) =>
          new PerformanceObserver((list) => list.getEntries().forEach(each)).observe({ type, buffered: true, ...more });
        observe('longtask', (task) => seen.longTasks.push([task.startTime, task.duration]));
        observe('event', (event) => {
          if (event.interactionId)
            seen.interactions[event.interactionId] = Math.max(event.duration, seen.interactions[event.interactionId] ?? 0);
        }, { durationThreshold: 16 });
        const painted = (then) => requestAnimationFrame(() => setTimeout(then));
        const parse = JSON.parse;
        JSON.parse = (text, ...more) => {
          const from = performance.now();
          const value = parse(text, ...more);
          if (seen.firstMapMs && value?.gpus) painted(() => seen.updatesMs.push(performance.now() - from));
          return value;
        };
        new MutationObserver((changes, observer) => {
          if (!document.querySelector('.cell')) return;
          observer.disconnect();
          painted(() => (seen.firstMapMs = performance.now()));
        }).observe(document, { childList: true, subtree: true });
      })();
      """;

  private final BrowserContext context;
  private final Page page;
  private final CDPSession session;

  /** Opens the page with nothing in the browser's cache, and returns when the map is painted. */
  public PageWatch(Chromium chromium, int port) {
    context =
        chromium.browser().newContext(new Browser.NewContextOptions().setViewportSize(1280, 800));
    page = context.newPage();
    page.addInitScript(OBSERVERS);
    session = context.newCDPSession(page);
    page.navigate("http://127.0.0.1:" + port);
    // Playwright's own wait evaluates a string, which the page forbids.
    page.evaluate(
        "async () => { while (!seen.firstMapMs) await new Promise((next) => setTimeout(next, 20));"
            + " }");
  }

  /** Lets the page follow the cluster. */
  public void watch(Duration length) {
    page.waitForTimeout((double) length.toMillis());
  }

  /** Returns the time of each update, from its text until it is painted. */
  public double[] updatesMs() {
    return numbers("seen.updatesMs");
  }

  /** Tasks of more than 50 ms that began after the first map was there. */
  public double[] longTasksMs() {
    return numbers("seen.longTasks.filter(([at]) => at > seen.firstMapMs).map(([, ms]) => ms)");
  }

  /** Returns the size of the page's live objects, in MiB. */
  public double heapMib() {
    session.send("HeapProfiler.collectGarbage");
    return session.send("Runtime.getHeapUsage").get("usedSize").getAsDouble() / (1 << 20);
  }

  /**
   * Clicks, types and moves as a reader does.
   *
   * @return how long each interaction took until its effect was painted, at least {@link
   *     #UNREPORTED_MS}
   */
  public double[] interact(int rounds) {
    for (int i = 0; i < rounds; i++) {
      open(i);
      move(i);
      filter();
      views();
    }
    return numbers(
        """
        (() => {
          const slow = Object.values(seen.interactions);
          const fast = Math.max(0, (performance.interactionCount ?? 0) - slow.length);
          return [...slow, ...Array(fast).fill(%f)];
        })()\
        """
            .formatted(UNREPORTED_MS));
  }

  private void open(int round) {
    Locator cells = page.locator(".cell");
    cells.nth(round * 37 % Math.min(cells.count(), 300)).click();
    pause();
    key("Escape");
    clearFilter();
  }

  private void move(int round) {
    page.locator(".cell").nth(round).focus();
    Stream.of("ArrowRight", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft").forEach(this::key);
  }

  private void filter() {
    key("/");
    Stream.of("l", "o", "a", "d", ">", "3", "0").forEach(this::key);
    key("Escape");
    clearFilter();
  }

  private void views() {
    Stream.of("nav a:nth-child(2)", "nav a:nth-child(3)", "nav a:nth-child(1)")
        .forEach(this::click);
    Stream.of("namespace", "model", "node").forEach(by -> click(".choice a:text-is('" + by + "')"));
    // To the table and back.
    click(".twin");
    click(".twin");
  }

  private void click(String selector) {
    page.locator(selector).click();
    pause();
  }

  private void clearFilter() {
    key("/");
    key("Control+a");
    key("Delete");
    key("Escape");
  }

  private void key(String key) {
    page.keyboard().press(key);
    pause();
  }

  private void pause() {
    page.waitForTimeout(PAUSE_MS);
  }

  private double[] numbers(String expression) {
    return ((List<?>) page.evaluate(expression))
        .stream().mapToDouble(each -> ((Number) each).doubleValue()).toArray();
  }

  @Override
  public void close() {
    context.close();
  }
}
