package dev.tranche.extender.explain;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.Demand.Kind;
import dev.tranche.api.Demand.Request;
import dev.tranche.api.Names;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class ShareTextTest {
  private static String needs(Map<String, String> annotations, Request... requests) {
    return ShareText.needs(Demand.of(Names.RESOURCE, 10, List.of(requests), annotations));
  }

  private static Request app(String name, int replicas) {
    return new Request(name, Kind.APP, replicas);
  }

  @Test
  void needs_areFractions() {
    var share = Map.of(Names.GPU_FRACTION, "0.4");
    assertThat(needs(share, app("main", 4))).isEqualTo("0.4 of one GPU");
    assertThat(needs(Map.of(Names.GPU_FRACTION, "1"), app("main", 10))).isEqualTo("one whole GPU");
    assertThat(needs(Map.of(), app("main", 3))).isEqualTo("0.3 of a GPU");
    assertThat(needs(Map.of(), app("main", 13))).isEqualTo("1.3 GPUs");
  }

  @Test
  void severalGpus_areCounted_fewInWords() {
    assertThat(needs(Map.of(Names.GPU_FRACTION, "0.4", Names.GPU_COUNT, "2"), app("main", 8)))
        .isEqualTo("0.4 on each of two GPUs");
    assertThat(needs(Map.of(Names.GPU_FRACTION, "0.6", Names.GPU_COUNT, "20"), app("main", 120)))
        .isEqualTo("0.6 on each of 20 GPUs");
    assertThat(needs(Map.of(Names.GPUS_REQUESTED, "main=3"), app("main", 30)))
        .isEqualTo("three whole GPUs");
  }

  @Test
  void severalContainers_areNamed_andManyAreCounted() {
    assertThat(
            needs(
                Map.of(Names.GPU_FRACTION_OF + "a", "0.6", Names.GPU_FRACTION_OF + "b", "0.3"),
                app("a", 6),
                app("b", 3)))
        .isEqualTo("0.6 of one GPU for container a and 0.3 of one GPU for container b");
    assertThat(
            needs(
                Map.of(),
                IntStream.range(0, 7).mapToObj(i -> app("c" + i, 2)).toArray(Request[]::new)))
        .isEqualTo("1.4 GPUs for 7 containers");
  }

  @Test
  void fraction_hasThreeDecimalsAtMost() {
    assertThat(ShareText.fraction(1, 3)).isEqualTo("0.333");
    assertThat(ShareText.fraction(20, 10)).isEqualTo("2");
    assertThat(ShareText.fraction(0, 10)).isEqualTo("0");
  }
}
