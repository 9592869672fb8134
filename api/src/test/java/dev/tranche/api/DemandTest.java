package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand.Kind;
import dev.tranche.api.Demand.Request;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DemandTest {
  @Test
  void plainRequest_upToR_isOneShareThatMayBeSplit() {
    Demand demand = demand(Map.of(), app("main", 3));
    assertThat(demand.containers().getFirst().eachShare()).containsExactly(3);
    assertThat(demand.containers().getFirst().mayUseSeveralGpus()).isTrue();
  }

  @Test
  void plainRequest_aboveR_takesWholeGpusFirst() {
    assertThat(demand(Map.of(), app("main", 15)).containers().getFirst().eachShare())
        .containsExactly(10, 5);
  }

  @Test
  void fraction_isOneShareThatStaysWhole() {
    Demand demand = demand(Map.of(Names.GPU_FRACTION, "0.3"), app("main", 3));
    assertThat(demand.containers().getFirst().eachShare()).containsExactly(3);
    assertThat(demand.containers().getFirst().mayUseSeveralGpus()).isFalse();
  }

  @Test
  void count_isThatShareOnEachGpu() {
    var annotations = Map.of(Names.GPU_FRACTION, "0.5", Names.GPU_COUNT, "2");
    assertThat(demand(annotations, app("main", 10)).containers().getFirst().eachShare())
        .containsExactly(5, 5);
  }

  @Test
  void wholeGpus_areFullShares() {
    assertThat(
            demand(Map.of(Names.GPU_FRACTION, "2"), app("main", 20))
                .containers()
                .getFirst()
                .eachShare())
        .containsExactly(10, 10);
  }

  @ParameterizedTest
  @CsvSource({"gpu-fraction, 0.2, 0.3", "gpu-memory, 4Gi, 2Gi"})
  void namedContainers_haveSharesOfTheirOwn(String annotation, String named, String others) {
    String key = "tranche.dev/" + annotation;
    Demand demand =
        demand(Map.of(key + ".b", named, key, others), app("a", 3), app("b", 2), app("c", 1));
    assertThat(demand.containers())
        .extracting(Demand.Container::mayUseSeveralGpus)
        .containsExactly(false, false, true);
  }

  @Test
  void wholeGpusByTheStamp_stayWhole_whateverTheCountOfShares() {
    var annotations =
        Map.of(
            Names.GPUS_REQUESTED,
            "a=2,b=1",
            Names.GPU_FRACTION_OF + "c",
            "0.1",
            Names.GPU_COUNT,
            "4");
    Demand demand = demand(annotations, app("a", 20), app("b", 10), app("c", 4), app("d", 1));
    assertThat(demand.containers())
        .extracting(c -> c.eachShare().boxed().toList())
        .containsExactly(List.of(10, 10), List.of(10), List.of(1, 1, 1, 1), List.of(1));
    assertThat(demand.containers())
        .extracting(Demand.Container::mayUseSeveralGpus)
        .containsExactly(false, false, false, true);
  }

  @Test
  void containersWithoutRequest_areLeftOut() {
    assertThat(demand(Map.of(), app("main", 0)).isEmpty()).isTrue();
  }

  @Test
  void peak_isTheLargerOfInitAndApp_withSidecarsBesideBoth() {
    Demand demand =
        demand(
            Map.of(),
            new Request("warm", Kind.INIT, 6),
            new Request("proxy", Kind.SIDECAR, 2),
            new Request("late", Kind.INIT, 4),
            app("main", 3));
    assertThat(demand.peakReplicas()).isEqualTo(6);
    assertThat(demand.onOneGpu()).isTrue();
  }

  @Test
  void initContainersThatPassSeveralWholeGpusOn_countWithTheContainerThatKeepsThem() {
    Demand demand =
        demand(
            Map.of(),
            new Request("check", Kind.INIT, 20),
            new Request("warm", Kind.INIT, 20),
            app("main", 20),
            app("side", 3));
    assertThat(demand.onOneGpu()).isFalse();
    assertThat(demand.peakReplicas()).isEqualTo(23);
    assertThat(demand.containers())
        .extracting(Demand.Container::name)
        .containsExactly("main", "side");
  }

  /** The kubelet picks what an app container takes over, so that it may be parts of two GPUs. */
  @Test
  void initContainersOfOtherSizes_keepThePodOnOneGpu() {
    for (List<Request> requests :
        List.of(
            List.of(new Request("check", Kind.INIT, 20), app("main", 10)),
            List.of(new Request("check", Kind.INIT, 10), app("main", 20)),
            List.of(new Request("check", Kind.INIT, 10), app("main", 10)),
            List.of(new Request("check", Kind.INIT, 15), app("main", 15)),
            List.of(new Request("check", Kind.INIT, 20), app("side", 3), app("main", 20)),
            List.of(
                new Request("check", Kind.INIT, 20),
                new Request("proxy", Kind.SIDECAR, 20),
                new Request("late", Kind.INIT, 20),
                app("main", 20)))) {
      assertThat(demand(Map.of(), requests.toArray(Request[]::new)).onOneGpu()).isTrue();
    }
  }

  @Test
  void peak_withoutInit_isTheSum() {
    Demand demand = demand(Map.of(), new Request("proxy", Kind.SIDECAR, 2), app("main", 3));
    assertThat(demand.peakReplicas()).isEqualTo(5);
    assertThat(demand.onOneGpu()).isFalse();
  }

  private static Demand demand(Map<String, String> annotations, Request... requests) {
    return Demand.of(Names.RESOURCE, 10, List.of(requests), annotations);
  }

  private static Request app(String name, int replicas) {
    return new Request(name, Kind.APP, replicas);
  }
}
