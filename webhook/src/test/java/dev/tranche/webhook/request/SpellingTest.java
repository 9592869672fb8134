package dev.tranche.webhook.request;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SpellingTest {
  private static List<String> warnings(String name) {
    var warnings = new ArrayList<String>();
    PlacementAnnotations.warnOfUnknown(Map.of("tranche.dev/" + name, "1"), warnings);
    return warnings;
  }

  @ParameterizedTest
  @CsvSource({
    "gpu-fractoin, gpu-fraction",
    "gpu_fraction, gpu-fraction",
    "GPU-Fraction, gpu-fraction",
    "gpufraction, gpu-fraction",
    "gpu-fractions.main, gpu-fraction.main",
    "gpu-memroy.main, gpu-memory.main",
    "gpu-cnt, gpu-count",
    "gpu-models, gpu-model",
    "gpu-uid, gpu-uuid",
  })
  void misspeltAnnotation_isAnsweredWithTheNearest(String wrong, String right) {
    assertThat(warnings(wrong))
        .containsExactly(
            "annotation tranche.dev/%s is unknown to Tranche and has no effect; did you mean tranche.dev/%s?"
                .formatted(wrong, right));
  }

  @Test
  void nameThatIsNearNone_isOnlyUnknown() {
    assertThat(warnings("something"))
        .containsExactly(
            "annotation tranche.dev/something is unknown to Tranche and has no effect");
    assertThat(warnings("g".repeat(300))).allMatch(warning -> !warning.contains("did you mean"));
  }
}
