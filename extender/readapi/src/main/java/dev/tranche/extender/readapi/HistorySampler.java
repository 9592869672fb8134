package dev.tranche.extender.readapi;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.history.GpuHistory;
import dev.tranche.extender.history.GpuSample;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes the history's samples, one in each step, whether or not anybody reads them. Each sample
 * needs one snapshot from the extender's loop; lists use the same snapshots.
 */
final class HistorySampler {
  private static final Logger LOG = LoggerFactory.getLogger(HistorySampler.class);

  private final Vertx vertx;
  private final GpuHistory history;
  private final Supplier<Future<Boolean>> ready;
  private final Supplier<Future<Inspection>> snapshots;
  private final LongSupplier clockMs;

  /**
   * @param ready false while the state is incomplete; no sample is taken then
   */
  HistorySampler(
      Vertx vertx,
      GpuHistory history,
      Supplier<Future<Boolean>> ready,
      Supplier<Future<Inspection>> snapshots,
      LongSupplier clockMs) {
    this.vertx = vertx;
    this.history = history;
    this.ready = ready;
    this.snapshots = snapshots;
    this.clockMs = clockMs;
  }

  void start() {
    sample();
  }

  private void sample() {
    ready
        .get()
        .compose(known -> known ? snapshots.get().compose(this::added) : Future.succeededFuture(0))
        .onFailure(failure -> LOG.warn("the history of GPUs has a gap", failure))
        .onComplete(done -> vertx.setTimer(history.nextInMs(clockMs.getAsLong()), due -> sample()));
  }

  private Future<@Nullable Integer> added(Inspection snapshot) {
    return vertx.executeBlocking(
        () -> {
          List<GpuSample> samples = samples(snapshot);
          history.add(samples, clockMs.getAsLong());
          return samples.size();
        },
        false);
  }

  static List<GpuSample> samples(Inspection snapshot) {
    var samples = new ArrayList<GpuSample>();
    for (Inspection.Node node : snapshot.nodes()) {
      for (Inspection.Gpu gpu : node.gpus()) {
        var view = gpu.view();
        boolean fresh = view.measured();
        samples.add(
            new GpuSample(
                node.name(),
                view.uuid(),
                view.index(),
                fresh ? gpu.smMean() : Double.NaN,
                fresh && gpu.memoryKnown() ? gpu.memoryUsedBytes() : -1,
                (double) (view.replicas() - view.freeReplicas()) / view.replicas()));
      }
    }
    return samples;
  }
}
