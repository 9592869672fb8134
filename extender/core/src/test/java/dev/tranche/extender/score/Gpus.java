package dev.tranche.extender.score;

import dev.tranche.api.AllowList;
import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.TestGpu;
import java.util.List;
import java.util.OptionalInt;

/** GPUs of ten replicas, and what is asked of them. */
final class Gpus {
  private Gpus() {}

  /**
   * @param memoryFree 0 to 1
   */
  static GpuView gpu(
      String uuid, int index, int free, double memoryFree, double sm, boolean measured) {
    return idle(uuid, index, free)
        .memory(1_000, (long) (memoryFree * 1_000))
        .measured(measured)
        .load(sm)
        .view();
  }

  static TestGpu idle(String uuid, int index, int free) {
    return new TestGpu(uuid).index(index).free(free).memory(1_000, 1_000);
  }

  /** One container with one share. */
  static GpuRequest request(int replicas) {
    var main =
        new Demand.Container(
            "main", Demand.Kind.APP, List.of(new Demand.Shares(1, replicas)), false);
    var demand = new Demand(Names.RESOURCE, 10, List.of(main));
    return new GpuRequest(demand, OptionalInt.of(10), AllowList.ANY, AllowList.ANY);
  }
}
