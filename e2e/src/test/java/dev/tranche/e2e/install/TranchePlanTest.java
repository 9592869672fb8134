package dev.tranche.e2e.install;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TranchePlanTest {
  private static String clusterName(String folder, boolean kept) {
    return new Tranche.Plan(Path.of(folder), Map.of(), _ -> {}, Map.of(), kept, _ -> {})
        .clusterName();
  }

  /** Whoever starts a cluster removes the one of its name. */
  @Test
  void clusters_haveTheSameName_onlyInTheSameCheckout() {
    String ofOne = clusterName("/one/target/scenarios", false);
    assertThat(ofOne)
        .isEqualTo(clusterName("/one/target/scenarios", false))
        .isNotEqualTo(clusterName("/other/target/scenarios", false));
    assertThat(clusterName("/one/target/demo", true)).isEqualTo("demo");
  }
}
