package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.ContainerPreferredAllocationRequest;
import dev.tranche.api.kubelet.Device;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Holding;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.limit.NodeLimits;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The plugin's answers to the kubelet, in the order of {@link DevicePluginServer}, without I/O. */
public final class PluginCalls {
  /** The replicas that a granted pick counts as. */
  public record Answer(Allocation.Verdict verdict, Replicas pickedFrom) {}

  private static final class OfResource {
    final AllocationCalls calls;
    final ReplicasAtPick picks;
    Replicas replicas;

    OfResource(AllocationCalls calls, Replicas replicas) {
      this.calls = calls;
      this.picks = new ReplicasAtPick(replicas);
      this.replicas = replicas;
    }
  }

  private final HeldReplicas held;
  private final Assignments assignments = new Assignments();
  private final Map<String, OfResource> byResource = new HashMap<>();

  public PluginCalls(HeldReplicas held) {
    this.held = held;
  }

  /** Returns the device lists that the kubelet gets: health by id, by resource. */
  public Map<String, Map<String, Boolean>> publish(NodeReplicas replicas, long nowMs) {
    Map<String, Map<String, Boolean>> lists = new LinkedHashMap<>();
    byResource.keySet().retainAll(replicas.resources().toList());
    for (Replicas of : replicas.byResource()) {
      OfResource known =
          byResource.computeIfAbsent(
              of.resource(), r -> new OfResource(new AllocationCalls(assignments, r), of));
      known.picks.update(of, nowMs);
      known.replicas = of;
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
    OfResource of = byResource.get(resource);
    if (of == null) {
      return List.of();
    }
    var request =
        ContainerPreferredAllocationRequest.newBuilder()
            .addAllAvailableDeviceIDs(of.replicas.current(available))
            .setAllocationSize(size)
            .build();
    return of.calls
        .prefer(
            request,
            Optional.of(new PodList(list)),
            Optional.empty(),
            held.duplicates(resource, of.replicas.sharing()),
            nowMs)
        .answer()
        .ids();
  }

  public Optional<Answer> allocate(String resource, List<String> ids, long nowMs) {
    OfResource of = byResource.get(resource);
    if (of == null) {
      return Optional.empty();
    }
    Replicas pickedFrom = of.picks.of(ids, nowMs);
    int size = ids.size();
    var verdict =
        new Allocation(pickedFrom, HostNodes.NONE, held, NodeLimits.NONE)
            .decide(
                ids,
                of.calls.assigned(size, nowMs),
                of.calls.replicasPerGpu(size, nowMs),
                of.calls.mayBeAssigned(size, nowMs));
    switch (verdict) {
      case Allocation.Verdict.Granted granted -> of.calls.granted(size, nowMs);
      case Allocation.Verdict.Refused refused -> of.calls.refused(size, nowMs);
    }
    return Optional.of(new Answer(verdict, pickedFrom));
  }
}
