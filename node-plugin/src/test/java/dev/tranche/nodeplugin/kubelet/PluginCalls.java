package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.ContainerPreferredAllocationRequest;
import dev.tranche.api.kubelet.Device;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Holding;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.gpu.Replicas;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The plugin's answers to the kubelet, in the order of {@link DevicePluginServer}, without I/O. */
public final class PluginCalls {
  private final HeldReplicas held;
  private final Assignments assignments = new Assignments();
  private final Map<String, ResourceCalls> byResource = new HashMap<>();

  public PluginCalls(HeldReplicas held) {
    this.held = held;
  }

  /** Returns the device lists that the kubelet gets: health by id, by resource. */
  public Map<String, Map<String, Boolean>> publish(NodeReplicas replicas, long nowMs) {
    Map<String, Map<String, Boolean>> lists = new LinkedHashMap<>();
    byResource.keySet().retainAll(replicas.resources().toList());
    for (Replicas of : replicas.byResource()) {
      byResource
          .computeIfAbsent(of.resource(), first -> new ResourceCalls(assignments, held, of))
          .update(of, nowMs);
      Map<String, Boolean> devices = new LinkedHashMap<>();
      for (Device device : DeviceList.of(of).getDevicesList()) {
        devices.put(device.getID(), device.getHealth().equals("Healthy"));
      }
      lists.put(of.resource(), devices);
    }
    return lists;
  }

  public void receive(Assignment assignment, long nowMs) {
    assignments.receive(assignment, nowMs);
  }

  public void retract(String uid, long nowMs) {
    assignments.retract(uid, nowMs);
  }

  public List<Assignment> remaining(long nowMs) {
    return assignments.remaining(nowMs);
  }

  public List<Holding> listed(ListPodResourcesResponse response, long nowMs) {
    assignments.expire(nowMs);
    PodList list = new PodList(response);
    assignments.listed(list);
    assignments.confirm(list);
    return list.holdings(devices -> true);
  }

  public List<String> prefer(
      String resource,
      List<String> available,
      int size,
      ListPodResourcesResponse list,
      long nowMs) {
    ResourceCalls calls = byResource.get(resource);
    if (calls == null) {
      return List.of();
    }
    var request =
        ContainerPreferredAllocationRequest.newBuilder()
            .addAllAvailableDeviceIDs(available)
            .setAllocationSize(size)
            .build();
    return calls
        .prefer(request, Optional.of(new PodList(list)), Hardware.NONE, nowMs)
        .answer()
        .ids();
  }

  /** Answers Allocate; empty if the resource is not advertised. */
  public Optional<Allocation.Verdict> allocate(String resource, List<String> ids, long nowMs) {
    return Optional.ofNullable(byResource.get(resource))
        .map(calls -> calls.allocate(ids, Hardware.NONE, nowMs));
  }
}
