package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.Device;
import dev.tranche.api.kubelet.ListAndWatchResponse;
import dev.tranche.api.kubelet.NUMANode;
import dev.tranche.api.kubelet.TopologyInfo;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.Replicas;

/** The replicas as ListAndWatch tells them. */
final class DeviceList {
  private DeviceList() {}

  static ListAndWatchResponse of(Replicas replicas) {
    var response = ListAndWatchResponse.newBuilder();
    replicas
        .ids()
        .forEach((gpu, ids) -> ids.forEach(id -> response.addDevices(device(replicas, gpu, id))));
    return response.build();
  }

  private static Device device(Replicas replicas, GpuStatus gpu, String id) {
    var device =
        Device.newBuilder().setID(id).setHealth(gpu.health().healthy() ? "Healthy" : "Unhealthy");
    // With a topology policy the kubelet would take all shared replicas of a NUMA node unasked.
    if (!replicas.config().sharing().shared() && gpu.info().numaNode() >= 0) {
      NUMANode node = NUMANode.newBuilder().setID(gpu.info().numaNode()).build();
      device.setTopology(TopologyInfo.newBuilder().addNodes(node));
    }
    return device.build();
  }
}
