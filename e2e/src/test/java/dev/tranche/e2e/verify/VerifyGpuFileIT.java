package dev.tranche.e2e.verify;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command as one file, started with nothing but the tools that it needs. */
@Tag("slow")
class VerifyGpuFileIT {
  private static final List<String> TOOLS =
      List.of("sh", "uname", "mktemp", "chmod", "tail", "tar", "gzip", "rm");

  @TempDir static Path folder;

  private Path temporary;

  @BeforeAll
  static void build() throws IOException {
    Shell.run(
            "JAVA_HOME=%s ../deploy/verify-gpu/build.sh %s"
                .formatted(System.getProperty("java.home"), file()))
        .orFail();
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

  private static Path file() {
    return folder.resolve("verify-gpu");
  }

  @BeforeEach
  void makeTemporaryFolder() throws IOException {
    temporary = Files.createTempDirectory(folder, "tmp");
  }

  private Shell.Result run(String script, String arguments) throws IOException {
    return Shell.run(
        folder,
        "env -i PATH=%s TMPDIR=%s LC_ALL=C %s %s"
            .formatted(folder.resolve("tools"), temporary, script, arguments));
  }

  @Test
  void fileAlone_checksGpus_andLeavesOnlyTheReport() throws IOException {
    Shell.Result result =
        run(file().toString(), "--seconds=1 --driver-root=" + folder.resolve("driver"));
    assertThat(result.status()).as(result.output()).isZero();
    assertThat(result.output())
        .contains("ok             Allocate, envvar: GPU-1a2b…")
        .contains("ok             spec: 1 devices")
        .endsWith("report: verify-gpu.json\n");
    JsonObject report = new JsonObject(Files.readString(folder.resolve("verify-gpu.json")));
    assertThat(report.getJsonArray("checks")).hasSizeGreaterThan(40);
    assertThat(temporary).isEmptyDirectory();
  }

  @Test
  void temporaryFolderThatStartsNoProgram_isReplacedByAnother() throws IOException {
    // Programs start nowhere where a file cannot be made executable.
    Path broken = Files.createDirectories(folder.resolve("broken"));
    Path chmod = broken.resolve("chmod");
    Files.writeString(
        chmod,
        "#!/bin/sh\ncase $2 in %s/*) exit 0 ;; esac\nexec %s/chmod \"$@\"\n"
            .formatted(temporary, folder.resolve("tools")));
    assertThat(chmod.toFile().setExecutable(true)).isTrue();
    Shell.Result result =
        Shell.run(
            folder,
            "env -i PATH=%s:%s TMPDIR=%s %s --help"
                .formatted(broken, folder.resolve("tools"), temporary, file()));
    assertThat(result.status()).as(result.output()).isZero();
    assertThat(result.output()).startsWith("Usage: verify-gpu");
    assertThat(temporary).isEmptyDirectory();
  }

  @Test
  void otherMachine_isRefusedInASentence() throws IOException {
    Path uname = Files.createDirectories(folder.resolve("other")).resolve("uname");
    Files.writeString(uname, "#!/bin/sh\n[ $1 = -s ] && echo Linux || echo riscv64\n");
    assertThat(uname.toFile().setExecutable(true)).isTrue();
    Shell.Result result =
        Shell.run(folder, "env -i PATH=%s:/usr/bin:/bin %s".formatted(uname.getParent(), file()));
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.output().lines()).hasSize(1);
    assertThat(result.output()).startsWith("error: ").contains("riscv64");
  }

  @Test
  void commandLines_reachTheChecks() throws IOException {
    assertThat(run(file().toString(), "--seconds=0").status()).isEqualTo(2);
    assertThat(run("sh " + file(), "--help").output()).startsWith("Usage: verify-gpu");
    assertThat(temporary).isEmptyDirectory();
  }
}
