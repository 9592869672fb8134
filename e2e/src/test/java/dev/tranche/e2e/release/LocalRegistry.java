package dev.tranche.e2e.release;

import dev.tranche.e2e.install.Shell;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An OCI registry on this machine, without TLS, for as long as a test runs. */
public final class LocalRegistry implements AutoCloseable {
  private static final Pattern ADDRESS = Pattern.compile("serving on port (\\d+)");

  private final String crane;
  private final Process process;
  private final int port;

  private LocalRegistry(String crane, Process process, int port) {
    this.crane = crane;
    this.process = process;
    this.port = port;
  }

  /**
   * @param host the address to listen on
   */
  public static LocalRegistry start(String host) throws IOException {
    String crane = Shell.output("../.build/tool.sh crane").strip();
    Process process =
        new ProcessBuilder(crane, "registry", "serve", "--address", host + ":0")
            .redirectErrorStream(true)
            .start();
    var log =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    Matcher found = ADDRESS.matcher("");
    String line = log.readLine();
    while (line != null && !found.reset(line).find()) {
      line = log.readLine();
    }
    if (line == null) {
      throw new IOException("the registry ended");
    }
    // A full pipe would stop the registry.
    Thread.ofPlatform().daemon().start(() -> log.lines().forEach(each -> {}));
    return new LocalRegistry(crane, process, Integer.parseInt(found.group(1)));
  }

  public int port() {
    return port;
  }

  /** The program that copies images. */
  public String crane() {
    return crane;
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
