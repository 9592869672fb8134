package dev.tranche.e2e.verify;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A driver whose calls hang. */
class NvmlChecksIT {
  private static final String GPU =
      "gpu index=0 uuid=GPU-1a2b3c4d-0000-1111-2222-333344445555 memory_mib=15360";

  @TempDir Path root;
  private final ByteArrayOutputStream output = new ByteArrayOutputStream();
  private final Report report = new Report(new PrintStream(output), new Anonymizer("", ""));

  @BeforeEach
  void compile() throws IOException {
    Shell.run("make -s -C fakenvml OUT=" + root.resolve("usr/lib64")).orFail();
  }

  private void state(String... lines) {
    try {
      Files.write(root.resolve("usr/lib64/gpus.state"), List.of(lines));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Optional<NvmlProbe> run(int limitS) throws Exception {
    return NvmlChecks.run(new VerifyOptions(Optional.empty(), root, 0, false), report, limitS);
  }

  private double tookMs(String function) {
    Matcher line =
        Pattern.compile(function + ": .*\\((.*) ms\\)")
            .matcher(output.toString(StandardCharsets.UTF_8));
    assertThat(line.find()).isTrue();
    return Double.parseDouble(line.group(1));
  }

  @Test
  void callThatHangs_isAFailureWithinTheLimit() throws Exception {
    state(GPU, "answer function=nvmlDeviceGetName hang=1");
    assertThat(run(1)).isEmpty();
    assertThat(report.failed()).isTrue();
    assertThat(output.toString(StandardCharsets.UTF_8)).contains("does not return within 1 s");
    state(GPU);
  }

  @Test
  void timeOfAFunction_isThatOfItsOwnCalls(@TempDir Path cgroups) throws Exception {
    Files.createFile(cgroups.resolve("cgroup.controllers"));
    System.setProperty("tranche.verify.cgroups", cgroups.toString());
    String driver = "driver version=615.71.09 limits=misc";
    state(driver, GPU, "answer function=nvmlDeviceSetMemoryLimits_v1 hang=1");
    var ended =
        CompletableFuture.runAsync(
            () -> state(driver, GPU),
            CompletableFuture.delayedExecutor(500, TimeUnit.MILLISECONDS));
    assertThat(run(30)).isPresent();
    ended.join();
    assertThat(tookMs("nvmlDeviceSetMemoryLimits_v1")).isGreaterThan(100);
    assertThat(tookMs("nvmlDeviceGetMemoryLimits_v1")).isLessThan(100);
  }
}
