package dev.tranche.e2e.release;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The version is read from one place, and written to all others by one command. */
class VersionIT {
  @TempDir Path folder;

  private Path copy;

  @BeforeEach
  void copyTheSources() throws IOException {
    copy = folder.resolve("copy");
    // What the command writes to, as it is here and now.
    Shell.run(
            Path.of(".."),
            "mkdir %1$s && git ls-files .build '*pom.xml' charts deploy docs '*.md' | xargs tar -cf - | tar -C %1$s -xf - && git -C %1$s init -q && git -C %1$s add -A"
                .formatted(copy))
        .orFail();
  }

  private String version() throws IOException {
    return Shell.run(copy, ".build/version.sh sources").orFail().strip();
  }

  private void set(String version) throws IOException {
    Shell.run(copy, ".build/version.sh set " + version).orFail();
  }

  private List<String> lines(String file, String containing) throws IOException {
    return Files.readAllLines(copy.resolve(file)).stream()
        .filter(line -> line.contains(containing))
        .map(String::strip)
        .toList();
  }

  @Test
  void set_andSetBack_changesNothing() throws IOException {
    String version = version();
    set("7.8.9-SNAPSHOT");
    assertThat(version()).isEqualTo("7.8.9-SNAPSHOT");
    set(version);
    assertThat(Shell.run(copy, "git status --porcelain | grep -v '^A '").output()).isEmpty();
  }

  @Test
  void newVersion_isInEveryFile() throws IOException {
    String old = version().replace("-SNAPSHOT", "");
    set("7.8.9-rc.1");
    assertThat(lines("charts/tranche/Chart.yaml", "ersion: 7"))
        .containsExactly("version: 7.8.9-rc.1", "appVersion: 7.8.9-rc.1");
    assertThat(lines("deploy/kubectl/kubectl-tranche", "version=")).contains("version=7.8.9-rc.1");
    assertThat(lines("deploy/tranche.yaml", "tranche/tranche:"))
        .isNotEmpty()
        .containsOnly("image: tranche/tranche:7.8.9-rc.1");
    assertThat(lines("deploy/kustomization.yaml", "newTag"))
        .containsExactly("newTag: \"7.8.9-rc.1\"");
    assertThat(lines("pom.xml", "7.8.9")).hasSize(1);
    assertThat(lines("node-plugin/pom.xml", "7.8.9")).hasSize(1);
    assertThat(
            Shell.run(
                    copy,
                    "git grep -nF 'tranche:%1$s' -- deploy docs README.md; git grep -nF '<version>%1$s' -- '*pom.xml'"
                        .formatted(old))
                .output())
        .isEmpty();
  }

  @Test
  void wordThatIsNoVersion_isRefused() throws IOException {
    for (String word : List.of("1.2", "v1.2.3", "1.2.3-beta", "''")) {
      Shell.Result refusal = Shell.run(copy, ".build/version.sh set " + word);
      assertThat(refusal.status()).isEqualTo(2);
      assertThat(refusal.output()).contains("allowed: three numbers");
    }
  }

  @Test
  void kubectlPlugin_isPackedReproducibly_andItsManifestNamesTheArchive() throws IOException {
    for (String into : List.of("one", "two")) {
      Shell.run(
              Path.of(".."),
              "deploy/kubectl/release.sh 1.2.3 https://example.com/downloads "
                  + folder.resolve(into))
          .orFail();
    }
    Path archive = folder.resolve("one/kubectl-tranche-1.2.3.tar.gz");
    assertThat(folder.resolve("two/kubectl-tranche-1.2.3.tar.gz")).hasSameBinaryContentAs(archive);
    assertThat(Files.readString(folder.resolve("one/tranche.yaml")))
        .contains("version: v1.2.3\n", "sha256: " + Digests.sha256(archive) + "\n")
        .contains("uri: https://example.com/downloads/kubectl-tranche-1.2.3.tar.gz\n")
        .doesNotContain("@");
  }
}
