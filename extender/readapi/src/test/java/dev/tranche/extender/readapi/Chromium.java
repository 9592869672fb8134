package dev.tranche.extender.readapi;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserType;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.assertions.PlaywrightAssertions;
import dev.tranche.process.Programs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The distribution's browser, without a window. */
public final class Chromium implements AutoCloseable {
  private static final Path SCRIPTS = scripts(Path.of("").toAbsolutePath());

  private final Playwright playwright;
  public final Browser browser;

  /** The tests of two modules use it, and each runs in its own folder. */
  private static Path scripts(Path folder) {
    Path here = folder.resolve(".build");
    return Files.isDirectory(here)
        ? here
        : scripts(Objects.requireNonNull(folder.getParent(), "no folder .build above"));
  }

  public Chromium() throws Exception {
    // Beside other tests a browser may be slow.
    PlaywrightAssertions.setDefaultAssertionTimeout(20_000);
    playwright =
        Playwright.create(
            new Playwright.CreateOptions()
                .setEnv(
                    Map.of(
                        "PLAYWRIGHT_NODEJS_PATH",
                        found("node.sh"),
                        "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD",
                        "1")));
    browser =
        playwright
            .chromium()
            .launch(
                new BrowserType.LaunchOptions()
                    .setExecutablePath(Path.of(found("tool.sh", "chromium")))
                    // The cache is on in everybody's browser.
                    .setIgnoreDefaultArgs(List.of("--disable-back-forward-cache"))
                    // As root there is no sandbox.
                    .setArgs(List.of("--no-sandbox")));
  }

  /** What the script found or installed. */
  static String found(String script, String... words) throws Exception {
    var command = new java.util.ArrayList<>(List.of(SCRIPTS.resolve(script).toString()));
    command.addAll(List.of(words));
    return Programs.output(command.toArray(String[]::new)).strip();
  }

  /** Of the checker for accessibility. */
  static Path axe() throws Exception {
    return Path.of(found("web.sh", "modules"), "axe-core", "axe.min.js");
  }

  @Override
  public void close() {
    playwright.close();
  }
}
