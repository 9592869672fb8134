package dev.tranche.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.simulate.script.KubeletScript;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The model of the kubelet does what real ones did, call by call; {@code e2e/recorded/record.sh}
 * has recorded them.
 */
class RecordedKubeletTest {
  static Stream<Arguments> scripts() {
    return Recordings.withVersions(KubeletScript.values());
  }

  @ParameterizedTest
  @MethodSource("scripts")
  void model_doesWhatTheKubeletDid(String version, KubeletScript script) throws IOException {
    var stage = new ModelKubeletStage();
    script.play(stage);
    assertThat(stage.recording()).isEqualTo(Recordings.of("kubelet", version).get(script.title()));
  }
}
