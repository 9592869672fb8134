package dev.tranche.e2e.verify;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command from its archive, started with nothing but a shell and the tools that it calls. */
@Tag("slow")
class VerifyGpuFileIT {
  private static final List<String> TOOLS = List.of("sh", "dirname");

  @TempDir static Path folder;

  @BeforeAll
  static void build() throws IOException {
    Shell.run(
            "JAVA_HOME=%s ../deploy/verify-gpu/build.sh %s"
                .formatted(System.getProperty("java.home"), folder.resolve("packed.tar.gz")))
        .orFail();
    Shell.run(folder, "tar -xzf packed.tar.gz").orFail();
    Path library = folder.resolve("driver/usr/lib64");
    Shell.run("make -s -C fakenvml OUT=" + library).orFail();
    Files.writeString(library.resolve("libcuda.so.580.82.07"), "");
    Files.writeString(
        library.resolve("gpus.state"),
        "gpu index=0 uuid=GPU-1a2b3c4d-0000-1111-2222-333344445555 model=\"Tesla T4\""
            + " memory_mib=15360 reserved_mib=450 used_mib=512 sm=30\n");
    Path tools = Files.createDirectories(folder.resolve("tools"));
    for (String tool : TOOLS) {
      Path found = Path.of(Shell.output("command -v " + tool).strip());
      Files.createSymbolicLink(tools.resolve(tool), found);
    }
  }

  private static Shell.Result run(String arguments) throws IOException {
    return Shell.run(
        folder,
        "env -i PATH=%s LC_ALL=C verify-gpu/verify-gpu %s"
            .formatted(folder.resolve("tools"), arguments));
  }

  @Test
  void archiveAlone_checksGpus() throws IOException {
    Shell.Result result = run("--seconds=1 --driver-root=" + folder.resolve("driver"));
    assertThat(result.status()).as(result.output()).isZero();
    assertThat(result.output())
        .contains("ok             Allocate, envvar: GPU-1a2b…")
        .contains("ok             spec: 1 devices")
        .endsWith("report: verify-gpu.json\n");
    JsonObject report = new JsonObject(Files.readString(folder.resolve("verify-gpu.json")));
    assertThat(report.getJsonArray("checks")).hasSizeGreaterThan(40);
  }

  @Test
  void commandLines_reachTheChecks() throws IOException {
    assertThat(run("--seconds=0").status()).isEqualTo(2);
    assertThat(run("--help").output()).startsWith("Usage: verify-gpu");
  }
}
