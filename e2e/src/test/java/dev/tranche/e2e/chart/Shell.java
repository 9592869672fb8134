package dev.tranche.e2e.chart;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;

/** A command line, in this module's folder. */
final class Shell {
  private Shell() {}

  /**
   * @param said both of its outputs
   */
  record Result(int status, String said) {
    /** What it said; it must have succeeded. */
    String orFail() {
      assertThat(status).as(said).isZero();
      return said;
    }
  }

  static Result run(String command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder("bash", "-c", command).redirectErrorStream(true).start();
    process.getOutputStream().close();
    String said = new String(process.getInputStream().readAllBytes(), UTF_8);
    return new Result(process.waitFor(), said);
  }

  /** What Helm's command renders, hooks included, unlike the library that the other tests use. */
  static String helmTemplate(String arguments) throws IOException, InterruptedException {
    return run("\"$("
            + Path.of("../.build/helm.sh").toAbsolutePath()
            + ")\" template tranche ../charts/tranche -n tranche --kube-version v1.34.4 "
            + arguments)
        .orFail();
  }
}
