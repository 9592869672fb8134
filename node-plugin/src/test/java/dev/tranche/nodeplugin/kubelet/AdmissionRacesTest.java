package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.fuzz.Seeds;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** In no order of events is a pod refused that was bound, or its share split. */
@Tag("slow")
class AdmissionRacesTest {
  private static final int RACES = 8;
  private static final int STEPS = 2_000;

  /**
   * Two deleted pods of one name, twice; a deleted pod whose name has another size; a late List.
   */
  private static final long[] KNOWN = {2016110006, 840730584, 213814, 161674482};

  @ParameterizedTest
  @ValueSource(doubles = {0, 0.02})
  void boundPods_areAdmittedWhole(double lateLists) {
    int admitted = 0;
    int excused = 0;
    long[] seeds = Seeds.of(RACES, KNOWN);
    for (long seed : seeds) {
      var races = new AdmissionRaces(seed, lateLists);
      races.run(STEPS);
      assertThat(races.failures()).as("seed %d:\n%s", seed, races.history()).isEmpty();
      admitted += races.admitted();
      excused += races.excused();
    }
    assertThat(admitted).isGreaterThan(seeds.length * STEPS / 20);
    assertThat(excused).isLessThan(admitted / 20);
  }
}
