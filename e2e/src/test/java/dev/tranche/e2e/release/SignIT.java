package dev.tranche.e2e.release;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the scripts of a release ask of other programs. Nothing is signed, scanned or sent. */
class SignIT {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  @TempDir Path folder;

  private void stub(String name, String script) throws IOException {
    Path stub = folder.resolve(name);
    Files.writeString(stub, "#!/bin/sh\n" + script);
    assertThat(stub.toFile().setExecutable(true)).isTrue();
  }

  /** Returns the calls of gh. */
  private String sign(String version, boolean released) throws IOException {
    Path calls = folder.resolve("calls");
    Path release = folder.resolve("release");
    Files.createDirectories(release.resolve("image"));
    Files.writeString(release.resolve("tranche-%s.tgz".formatted(version)), "");
    Files.writeString(release.resolve("release-notes.md"), "");
    Files.copy(ROOT.resolve(".build/sign.sh"), folder.resolve("sign.sh"));
    for (String tool : new String[] {"cosign", "helm", "crane"}) {
      stub(tool, "echo sha256:12\n");
    }
    stub("tool.sh", "echo %s/$1\n".formatted(folder));
    stub("publish.sh", "echo $2@sha256:34\n");
    stub(
        "gh",
        """
        echo "$@" >>%s
        case $2 in
          view) exit %d ;;
          create) exit %d ;;
        esac
        """
            .formatted(calls, released ? 0 : 1, released ? 1 : 0));
    Shell.run(
            folder,
            "PATH=.:$PATH GITHUB_ACTOR=a GITHUB_TOKEN=t GITHUB_OUTPUT=out bash sign.sh %s r.example/Own/name"
                .formatted(release))
        .orFail();
    assertThat(folder.resolve("out")).hasContent("name=r.example/own/name\ndigest=sha256:34");
    return Files.readString(calls);
  }

  @Test
  void release_isMade() throws IOException {
    assertThat(sign("1.2.3", false))
        .containsPattern("release create v1\\.2\\.3 .*/tranche-1\\.2\\.3\\.tgz")
        .doesNotContain("--prerelease", "release upload");
  }

  @Test
  void releaseThatIsThere_getsTheFilesAgain() throws IOException {
    assertThat(sign("1.2.3", true))
        .containsPattern("release upload v1\\.2\\.3 --clobber .*/tranche-1\\.2\\.3\\.tgz")
        .contains("release edit v1.2.3 --draft=false")
        .doesNotContain("release create");
  }

  @Test
  void candidate_isAPrerelease() throws IOException {
    assertThat(sign("1.2.3-rc.1", false))
        .containsPattern("release create v1.2.3-rc.1 .*--prerelease");
  }

  /**
   * Both need a newer Go than the one that compiles the rest. A distribution's Go fetches none. The
   * scanner does not compile without an experiment of Go.
   */
  @Test
  void toolsOfARelease_mayFetchANewerGo() throws IOException {
    stub(
        "go",
        """
        case $1 in
          env) echo go1.25.7 ;;
          install)
            echo "$GOTOOLCHAIN $GOEXPERIMENT" >>%s
            for tool in trivy cosign; do echo '#!/bin/sh' >$GOBIN/$tool; chmod +x $GOBIN/$tool; done
            ;;
        esac
        """
            .formatted(folder.resolve("toolchains")));
    Shell.run(
            ROOT,
            "export PATH=%1$s:$PATH TRANCHE_CACHE=%1$s/cache GOTOOLCHAIN=local; .build/scan.sh %1$s && .build/tool.sh cosign"
                .formatted(folder))
        .orFail();
    assertThat(folder.resolve("toolchains")).hasContent("auto jsonv2\nauto ");
  }
}
