package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.dra.DraNodes;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DraLabelsTest {
  private static final String SET =
      "{\"metadata\":{\"resourceVersion\":\"%s\",\"labels\":{\"tranche.dev/gpus-served-by\":%s},\"annotations\":{}}}";

  private final List<String> patches = new ArrayList<>();
  private final DraNodes nodes = new DraNodes(List.of("nvidia.com/gpu"));
  private boolean deciding = true;
  private Future<?> answer = Future.succeededFuture();
  private final DraLabels labels =
      new DraLabels(
          nodes,
          (node, patch) -> {
            patches.add(patch);
            return answer;
          },
          () -> deciding,
          new NodeRate(
              "dra-labels",
              DraLabels.RATE,
              () -> 0,
              new ExtenderMetrics(new SimpleMeterRegistry())));

  @BeforeEach
  void nodeAHasASlice() {
    nodes.classSeen("gpu", "nvidia.com/gpu", List.of("device.driver == 'gpu.nvidia.com'"));
    nodes.sliceSeen("a-1", "a", "gpu.nvidia.com");
    nodes.classesListed();
    nodes.slicesListed();
  }

  @Test
  void nodeOfADriver_isLabelledOnce_andOthersAreNot() {
    labels.seen("a", "1", null, false);
    labels.seen("b", "1", null, false);
    labels.seen("a", "2", "dra", false);
    labels.everyTenSeconds();
    assertThat(patches).containsExactly(SET.formatted("1", "\"dra\""));
  }

  @Test
  void label_goesWhenADevicePluginServesTheNode_andWhenTheSlicesAreGone() {
    labels.seen("a", "1", "dra", true);
    assertThat(patches).containsExactly(SET.formatted("1", "null"));
    nodes.sliceGone("a-1");
    labels.seen("a", "2", "dra", false);
    assertThat(patches).hasSize(2).last().isEqualTo(SET.formatted("2", "null"));
  }

  @Test
  void nothingIsWritten_byAnotherReplica_orBeforeTheSlicesAreListed() {
    deciding = false;
    labels.seen("a", "1", null, false);
    deciding = true;
    var unread = new DraNodes(List.of("nvidia.com/gpu"));
    var early =
        new DraLabels(
            unread,
            (node, patch) -> {
              patches.add(patch);
              return answer;
            },
            () -> true,
            new NodeRate(
                "dra-labels",
                DraLabels.RATE,
                () -> 0,
                new ExtenderMetrics(new SimpleMeterRegistry())));
    early.seen("a", "1", "dra", false);
    assertThat(patches).isEmpty();
  }

  @Test
  void refusedPatch_isRetriedAtTheNextTick() {
    answer = Future.failedFuture("conflict");
    labels.seen("a", "1", null, false);
    answer = Future.succeededFuture();
    labels.everyTenSeconds();
    assertThat(patches).hasSize(2);
  }
}
