package dev.tranche.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The commands at the top of the repository say what they do, before they build anything. */
class HelpIT {
  private static Shell.Result run(String words) throws IOException {
    return Shell.run(Path.of(".."), "bash " + words);
  }

  @ParameterizedTest
  @ValueSource(strings = {"bench", "check", "demo", "matrix", "release"})
  void help_isShort(String command) throws Exception {
    Shell.Result help = run(command + " --help");
    assertThat(help.status()).isZero();
    assertThat(help.output()).startsWith("./" + command).contains("./" + command + " --help");
    assertThat(help.output().lines()).hasSizeLessThan(30).allMatch(line -> line.length() <= 120);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "bench scale --fast",
        "bench speed",
        "bench",
        "check --fast",
        "check --all --slice 2",
        "demo start",
        "demo up now",
        "matrix --fast",
        "release --fast",
        "release --repository tranche",
        "release --set",
        "release v0.0.0"
      })
  void unknownWords_areRefusedInASentence(String words) throws Exception {
    Shell.Result refusal = run(words);
    assertThat(refusal.status()).isEqualTo(2);
    assertThat(refusal.output().lines()).hasSize(1);
    assertThat(refusal.output()).contains("--help shows what there is");
  }

  @ParameterizedTest
  @ValueSource(strings = {"check --quick -Dkubernetes=1.29", "matrix 1.37 1.29"})
  void unknownKubernetesVersion_isRefusedWithThoseThatAreKnown(String words) throws Exception {
    Shell.Result refusal = run(words);
    assertThat(refusal.status()).isEqualTo(2);
    assertThat(refusal.output()).contains("Kubernetes 1.29 is not known", "v1.30.14", "v1.37.2");
  }

  @ParameterizedTest
  @CsvSource({"1.30, v1.30.14", "v1.37, v1.37.2", "1.38.0-alpha.1, v1.38.0-alpha.1", "'', v1.37.2"})
  void kubernetesVersion_isThatOfItsMinorVersion(String wanted, String version) throws Exception {
    assertThat(run(".build/kubernetes-version.sh " + wanted).output().strip()).isEqualTo(version);
  }

  @Test
  void demo_saysWhichWordsItsLoadTakes() throws Exception {
    assertThat(run("demo load node-t4").output()).contains("NODE GPU PERCENT");
    assertThat(run("demo watch closely").output()).contains("\"closely\"");
  }
}
