package dev.tranche.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.simulate.script.SchedulingScript;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The model of kube-scheduler does what real ones did, call by call; {@code e2e/recorded/record.sh}
 * has recorded them.
 */
class RecordedSchedulingTest {
  static Stream<Arguments> scripts() {
    return Recordings.withVersions(SchedulingScript.values());
  }

  @ParameterizedTest
  @MethodSource("scripts")
  void model_doesWhatKubeSchedulerDid(String version, SchedulingScript script) throws IOException {
    var stage = new ModelSchedulingStage();
    script.play(stage);
    assertThat(stage.recording())
        .isEqualTo(Recordings.of("kube-scheduler", version).get(script.title()));
  }
}
