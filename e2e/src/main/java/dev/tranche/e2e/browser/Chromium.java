package dev.tranche.e2e.browser;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserType;
import com.microsoft.playwright.Playwright;
import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The Chromium of the Linux distribution, run headless. */
public final class Chromium implements AutoCloseable {
  private final Playwright playwright;
  private final Browser browser;

  /**
   * @param root of the repository, whose scripts find a browser and a Node.js
   */
  public Chromium(Path root) throws IOException {
    playwright =
        Playwright.create(
            new Playwright.CreateOptions()
                .setEnv(
                    Map.of(
                        "PLAYWRIGHT_NODEJS_PATH",
                        found(root, "node.sh"),
                        "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD",
                        "1")));
    browser =
        playwright
            .chromium()
            .launch(
                new BrowserType.LaunchOptions()
                    .setExecutablePath(Path.of(found(root, "tool.sh", "chromium")))
                    // As root there is no sandbox.
                    .setArgs(List.of("--no-sandbox")));
  }

  public Browser browser() {
    return browser;
  }

  private static String found(Path root, String script, String... words) throws IOException {
    var command = new ArrayList<>(List.of(words));
    command.addFirst(root.resolve(".build").resolve(script).toAbsolutePath().toString());
    return Shell.run(new ProcessBuilder(command).redirectError(Redirect.INHERIT)).orFail().strip();
  }

  @Override
  public void close() {
    playwright.close();
  }
}
