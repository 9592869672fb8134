package dev.tranche.e2e.chart;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A command line, in this module's folder. */
final class Shell {
  private Shell() {}

  /**
   * @param said what it wrote to its outputs, in {@link #run} both of them
   */
  record Result(int status, String said) {
    /** What it said; it must have succeeded. */
    String orFail() {
      assertThat(status).as(said).isZero();
      return said;
    }
  }

  static Result run(String command) throws IOException, InterruptedException {
    return run(new ProcessBuilder("bash", "-c", command).redirectErrorStream(true));
  }

  private static Result run(ProcessBuilder command) throws IOException, InterruptedException {
    Process process = command.start();
    process.getOutputStream().close();
    String said = new String(process.getInputStream().readAllBytes(), UTF_8);
    return new Result(process.waitFor(), said);
  }

  /**
   * What it printed, without what it told of its progress: that is shown only if it fails, which it
   * must not.
   */
  static String output(String command) throws IOException, InterruptedException {
    Path errors = Files.createTempFile("tranche", ".stderr");
    try {
      Result result = run(new ProcessBuilder("bash", "-c", command).redirectError(errors.toFile()));
      assertThat(result.status()).as(result.said() + Files.readString(errors)).isZero();
      return result.said();
    } finally {
      Files.delete(errors);
    }
  }

  /** What Helm's command renders, hooks included, unlike the library that the other tests use. */
  static String helmTemplate(String arguments) throws IOException, InterruptedException {
    return output(
        "\"$("
            + Path.of("../.build/helm.sh").toAbsolutePath()
            + ")\" template tranche ../charts/tranche -n tranche --kube-version v1.34.4 "
            + arguments);
  }
}
