package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.cluster.Injection;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/**
 * A node of a whole GPU and of one that is cut into MIG devices, each kind a resource of its own.
 */
@Order(1_050)
class MigE2E {
  private static final String SMALL = "nvidia.com/mig-1g.5gb";
  private static final int CUT = 1;

  @Test
  void mixedStrategy_givesMigDevicesByTheirProfile_andSharesOfTheWholeGpuBesideThem() {
    try (OneNode node =
        OneNode.start(
            "mig",
            List.of(Model.T4, Model.A100),
            gpus -> gpus.mig(CUT, "1g.5gb", 4864),
            Map.of(
                "migStrategy",
                "mixed",
                "advertisedResources[0]",
                Names.RESOURCE,
                "advertisedResources[1]",
                SMALL))) {
      node.awaitAllocatable(SMALL, 1);
      Pod small = node.run(PodSpecs.plain("small", SMALL, 1).build());
      String mig = node.gpus().migUuid(CUT);
      assertThat(small.getSpec().getSchedulerName()).isEqualTo(Names.SCHEDULER);
      assertThat(small.getMetadata().getAnnotations()).containsEntry(Names.GPU, mig);
      assertThat(node.visibleDevices(small)).isEqualTo(mig);
      assertThat(node.held(small)).containsExactly(Map.entry("main", List.of(mig)));
      assertThat(injected(node, small)).containsExactly(mig);

      // The only one is taken, and no replica of the whole GPU is one.
      node.create(PodSpecs.plain("waits", SMALL, 1).build());
      Pod share = node.run(PodSpecs.fraction("share", "0.3").build());
      assertThat(node.visibleDevices(share)).isEqualTo(node.gpus().uuid(0));
      assertThat(node.get("waits").getStatus().getPhase()).isEqualTo("Pending");
      node.delete("small");
      assertThat(node.visibleDevices(node.awaitRunning("waits"))).isEqualTo(mig);
    }
  }

  private static List<String> injected(OneNode node, Pod pod) {
    return node.tranche().cluster().injections(OneNode.NODE).stream()
        .filter(injection -> injection.podUid().equals(pod.getMetadata().getUid()))
        .map(Injection::uuids)
        .flatMap(List::stream)
        .toList();
  }
}
