package dev.tranche.process;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;

/** Programs of this machine that a test runs to their end. */
public final class Programs {
  private Programs() {}

  public static String output(String... command) throws IOException, InterruptedException {
    return output(new ProcessBuilder(command));
  }

  /** Returns what a program writes to its standard output; it must succeed. */
  public static String output(ProcessBuilder program) throws IOException, InterruptedException {
    Process process = program.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    process.getOutputStream().close();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.waitFor()).as("%s: %s", program.command(), output).isZero();
    return output;
  }
}
