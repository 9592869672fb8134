package dev.tranche.e2e.kubectl;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The plugin, run by one shell, with a kubectl that is a script: {@code kubectl/kubectl}. */
final class FakeCluster {
  static final Path PLUGIN = Path.of("../deploy/kubectl").toAbsolutePath().normalize();
  private static final Path KUBECTL = Path.of("src/test/resources/kubectl").toAbsolutePath();

  private final List<String> shell;
  private final Path folder;

  /** How a run has ended. */
  record Ended(int status, String out, String errors) {}

  FakeCluster(String shell, Path folder) throws IOException {
    this.shell = List.of(shell.split(" "));
    this.folder = folder;
    put("extenders", "tranche-extender-0 0.1.0 True\ntranche-extender-1 0.1.0 True\n");
    put("lease", "tranche-extender-1_b2a1");
    put("page1", "NODE   GPUS\na      2\n# 1 more: continue=c2\n");
    put("page2", "NODE   GPUS\nb      1\n");
    put("bound", "Name:          bound\nState:         Bound (Confirmed)\n");
    put("foretold", "Fits:          yes\nNode:          a\n");
    put("pod.yaml", "kind: Pod\n");
    put("waiting", "Name:          waiting\nState:         Waiting\n");
  }

  void put(String file, String content) throws IOException {
    Files.writeString(folder.resolve(file), content);
  }

  void remove(String file) throws IOException {
    Files.delete(folder.resolve(file));
  }

  List<String> calls() throws IOException {
    Path calls = folder.resolve("calls");
    return Files.exists(calls) ? Files.readAllLines(calls) : List.of();
  }

  Path folder() {
    return folder;
  }

  Ended run(String... words) throws IOException, InterruptedException {
    return end(start("kubectl-tranche", words));
  }

  Ended complete(String... words) throws IOException, InterruptedException {
    return end(start("kubectl_complete-tranche", words));
  }

  Process start(String script, String... words) throws IOException {
    var command = new ArrayList<>(shell);
    command.add(PLUGIN.resolve(script).toString());
    command.addAll(List.of(words));
    var builder =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectOutput(folder.resolve("out").toFile())
            .redirectError(folder.resolve("errors").toFile());
    builder.environment().put("PATH", KUBECTL + ":" + System.getenv("PATH"));
    builder.environment().put("FAKE", folder.toString());
    Process process = builder.start();
    process.getOutputStream().close();
    return process;
  }

  Ended end(Process process) throws IOException, InterruptedException {
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(forwards()).as("a port-forward that was left behind").isFalse();
    return new Ended(process.exitValue(), read("out"), read("errors"));
  }

  String read(String file) {
    try {
      return Files.readString(folder.resolve(file), UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Whether the last port-forward that was begun runs still. */
  boolean forwards() {
    return Files.exists(folder.resolve("forwarder"))
        && ProcessHandle.of(Long.parseLong(read("forwarder").strip()))
            .map(ProcessHandle::isAlive)
            .orElse(false);
  }
}
