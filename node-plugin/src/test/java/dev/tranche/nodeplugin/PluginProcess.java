package dev.tranche.nodeplugin;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.Until;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The program as a process of its own, as the image starts it, with what it logs and serves. */
final class PluginProcess implements AutoCloseable {
  private static final Pattern METRICS_PORT = Pattern.compile("metrics on port (\\d+)");

  private final Process process;
  private final Path log;

  private PluginProcess(Process process, Path log) {
    this.process = process;
    this.log = log;
  }

  static PluginProcess start(Path log, List<String> args) throws IOException {
    return start(List.of(), log, args);
  }

  /** Starts it as the last argument of another command. */
  static PluginProcess start(List<String> by, Path log, List<String> args) throws IOException {
    List<String> command = new ArrayList<>(by);
    command.addAll(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-XX:+UseSerialGC",
            "-Xmx32m",
            "-Xss256k",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            NodePluginMain.class.getName()));
    command.addAll(args);
    command.add("--metrics-address=127.0.0.1:0");
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    return new PluginProcess(process, log);
  }

  String logged() {
    try {
      return Files.readString(log);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  void await(Until.Condition<RuntimeException> condition) {
    until(this::logged, condition);
  }

  /** Whether it answers {@link #get}. */
  boolean serves() {
    return METRICS_PORT.matcher(logged()).find();
  }

  HttpResponse<String> get(String path) {
    Matcher port = METRICS_PORT.matcher(logged());
    assertThat(port.find()).isTrue();
    URI uri = URI.create("http://127.0.0.1:" + port.group(1) + path);
    try (HttpClient http = HttpClient.newHttpClient()) {
      return http.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Asks it to end, and waits until it has. */
  void terminate(int limitSeconds) throws InterruptedException {
    process.destroy();
    assertThat(process.waitFor(limitSeconds, TimeUnit.SECONDS)).isTrue();
  }

  /** The status with which it ends by itself. */
  int status() throws InterruptedException {
    assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
    return process.exitValue();
  }

  /** As a node that goes down ends it. */
  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
