package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.Device;
import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.gpu.Replica;
import dev.tranche.nodeplugin.gpu.Replica.Stage;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DeviceListTest {
  @Test
  void unsharedGpu_tellsItsNumaNode() {
    Device device = device("GPU-0", 1);
    assertThat(device.getTopology().getNodesList())
        .singleElement()
        .satisfies(node -> assertThat(node.getID()).isEqualTo(1));
  }

  @Test
  void sharedReplica_andUnknownNumaNode_tellNone() {
    assertThat(device("GPU-0::3", 1).hasTopology()).isFalse();
    assertThat(device("GPU-0", -1).hasTopology()).isFalse();
  }

  private static Device device(String id, int numaNode) {
    var info = new GpuInfo(0, "GPU-0", "Tesla T4", 0, 0, 0, numaNode, 7, Mig.OFF);
    var config = Configs.of();
    var replicas =
        new Replicas(
            config,
            "nvidia.com/gpu",
            Map.of(),
            List.of(new Replica(id, info, true, Stage.OFFERED)));
    return DeviceList.of(replicas).getDevices(0);
  }
}
