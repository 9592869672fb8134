package dev.tranche.e2e;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The commands at the top of the repository say what they do, before they build anything. */
class HelpIT {
  private record Answer(int status, String out) {}

  private static Answer run(String... words) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(Stream.concat(Stream.of("bash"), Arrays.stream(words)).toList())
            .directory(Path.of("..").toFile())
            .redirectErrorStream(true)
            .start();
    process.getOutputStream().close();
    String out = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
    return new Answer(process.exitValue(), out);
  }

  @ParameterizedTest
  @ValueSource(strings = {"bench", "check", "demo"})
  void help_isShort(String command) throws Exception {
    Answer help = run(command, "--help");
    assertThat(help.status()).isZero();
    assertThat(help.out()).startsWith("./" + command).contains("./" + command + " --help");
    assertThat(help.out().lines()).hasSizeLessThan(30).allMatch(line -> line.length() <= 120);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"bench scale --fast", "bench speed", "bench", "check --fast", "demo start"})
  void unknownWords_areRefusedInASentence(String words) throws Exception {
    Answer refusal = run(words.split(" "));
    assertThat(refusal.status()).isEqualTo(2);
    assertThat(refusal.out().lines()).hasSize(1);
    assertThat(refusal.out()).contains("--help shows what there is");
  }

  @Test
  void demo_saysWhichWordsItsLoadTakes() throws Exception {
    assertThat(run("demo", "load", "node-t4").out()).contains("NODE GPU PERCENT");
    assertThat(run("demo", "watch", "closely").out()).contains("\"closely\"");
  }
}
