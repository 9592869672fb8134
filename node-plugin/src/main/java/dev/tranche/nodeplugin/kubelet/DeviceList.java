package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.Device;
import dev.tranche.api.kubelet.ListAndWatchResponse;
import dev.tranche.api.kubelet.NUMANode;
import dev.tranche.api.kubelet.TopologyInfo;
import dev.tranche.nodeplugin.gpu.Replica;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.nvml.GpuInfo;

/** Converts the replicas to a ListAndWatch response. */
final class DeviceList {
  private DeviceList() {}

  static ListAndWatchResponse of(Replicas replicas) {
    var response = ListAndWatchResponse.newBuilder();
    replicas.all().forEach(replica -> response.addDevices(device(replica)));
    return response.build();
  }

  private static Device device(Replica replica) {
    var device =
        Device.newBuilder()
            .setID(replica.id())
            .setHealth(replica.healthy() ? "Healthy" : "Unhealthy");
    GpuInfo gpu = replica.gpu();
    boolean shared = !replica.id().equals(gpu.uuid());
    // With a topology policy, the kubelet would take all shared replicas of a NUMA node without
    // asking the plugin which ones to take.
    if (!shared && gpu.numaNode() >= 0) {
      NUMANode node = NUMANode.newBuilder().setID(gpu.numaNode()).build();
      device.setTopology(TopologyInfo.newBuilder().addNodes(node));
    }
    return device.build();
  }
}
