package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.ReplicaId;
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
import org.jspecify.annotations.Nullable;

/**
 * The plugin's answers to the kubelet, in the order of {@link DevicePluginServer} and {@link
 * Kubelet}, without sockets.
 */
public final class SimulatedCalls {
  /** What a List has shown. */
  public record ReadBack(List<Holding> holdings, boolean complete, boolean confirmed) {}

  private final HeldReplicas held;
  private final Assignments assignments = new Assignments();
  private final Map<String, ResourceCalls> byResource = new HashMap<>();
  private @Nullable NodeReplicas published;

  public SimulatedCalls(HeldReplicas held) {
    this.held = held;
  }

  /** Returns the device lists that the kubelet gets: health by id, by resource. */
  public Map<String, Map<String, Boolean>> publish(NodeReplicas replicas, long nowMs) {
    published = replicas;
    Map<String, Map<String, Boolean>> lists = new LinkedHashMap<>();
    byResource.keySet().retainAll(replicas.byResource().stream().map(Replicas::resource).toList());
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

  public boolean expire(long nowMs) {
    return assignments.expire(nowMs);
  }

  public ReadBack listed(ListPodResourcesResponse response, String node) {
    PodList list = new PodList(response);
    assignments.listed(list);
    NodeReplicas now = published;
    List<Holding> holdings =
        list.holdings(
            devices ->
                byResource.containsKey(devices.getResourceName())
                    || (now != null
                        && devices.getDeviceIdsList().stream()
                            .anyMatch(id -> now.sharing().containsKey(ReplicaId.uuidOf(id)))));
    return new ReadBack(holdings, list.complete(node), assignments.confirm(list));
  }

  /**
   * Answers GetPreferredAllocation.
   *
   * @param list null if the kubelet did not answer in time
   */
  public List<String> prefer(
      String resource,
      List<String> available,
      List<String> mustInclude,
      int size,
      @Nullable ListPodResourcesResponse list,
      long nowMs) {
    ResourceCalls calls = byResource.get(resource);
    if (calls == null) {
      return List.of();
    }
    var request =
        ContainerPreferredAllocationRequest.newBuilder()
            .addAllAvailableDeviceIDs(available)
            .addAllMustIncludeDeviceIDs(mustInclude)
            .setAllocationSize(size)
            .build();
    return calls
        .prefer(request, Optional.ofNullable(list).map(PodList::new), Hardware.NONE, nowMs)
        .answer()
        .ids();
  }

  /** Answers Allocate. Returns why it is refused; empty if it is granted. */
  public String allocate(String resource, List<String> ids, long nowMs) {
    ResourceCalls calls = byResource.get(resource);
    if (calls == null) {
      return "no such resource";
    }
    return calls.allocate(ids, Hardware.NONE, nowMs) instanceof Allocation.Verdict.Refused refused
        ? refused.message()
        : "";
  }
}
