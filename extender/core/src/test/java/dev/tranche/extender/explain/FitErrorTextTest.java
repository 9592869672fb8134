package dev.tranche.extender.explain;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.AllowList;
import dev.tranche.api.Demand;
import dev.tranche.api.Demand.Kind;
import dev.tranche.api.Demand.Request;
import dev.tranche.api.Names;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Outcome;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.placement.TestGpu;
import dev.tranche.extender.snapshot.NodeFit;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class FitErrorTextTest {
  @Test
  void node_saysWhatIsNeededAndWhatOneGpuHas() {
    NodeFit fit = fit(Map.of(Names.GPU_FRACTION, "0.6"), app("main", 6));
    assertThat(FitErrorText.node(fit)).isEqualTo("node a: gpu 0: 0.3 free, needs 0.6 of one GPU");
  }

  @Test
  void gpu_equalSharesOfOneContainer_areSoManyGpus() {
    NodeFit fit = fit(Map.of(Names.GPU_FRACTION, "0.6", Names.GPU_COUNT, "2"), app("main", 12));
    assertThat(FitErrorText.gpu(fit, gpu())).endsWith("needs 0.6 on each of two GPUs");
  }

  /** They may be on one GPU. */
  @Test
  void gpu_sharesOfSeveralContainers_areListed() {
    NodeFit fit =
        fit(
            Map.of(Names.GPU_FRACTION + ".b", "0.3", Names.GPU_FRACTION + ".a", "0.6"),
            app("a", 6),
            app("b", 3));
    assertThat(FitErrorText.gpu(fit, gpu()))
        .endsWith("needs 0.6 of one GPU for container a and 0.3 of one GPU for container b");
  }

  @Test
  void gpu_manyShares_areCounted() {
    NodeFit fit = fit(Map.of(Names.GPU_FRACTION, "0.6", Names.GPU_COUNT, "20"), app("main", 120));
    assertThat(FitErrorText.gpu(fit, gpu())).endsWith("needs 0.6 on each of 20 GPUs");
  }

  private static Request app(String container, int replicas) {
    return new Request(container, Kind.APP, replicas);
  }

  private static NodeFit fit(Map<String, String> annotations, Request... requests) {
    Demand demand = Demand.of(Names.RESOURCE, 10, List.of(requests), annotations);
    var request = new GpuRequest(demand, OptionalInt.of(10), AllowList.ANY, AllowList.ANY);
    var outcome = new Outcome.DoesNotFit(Reason.FRAGMENTED);
    return new NodeFit("a", request, List.of(gpu()), outcome, false, 0, 0, 0, 0);
  }

  private static GpuView gpu() {
    return new TestGpu("GPU-a").free(3).view();
  }
}
