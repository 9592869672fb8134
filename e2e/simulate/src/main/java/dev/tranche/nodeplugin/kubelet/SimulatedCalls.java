package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.ReplicaId;
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
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The plugin's answers to the kubelet, in the order of {@link DevicePluginServer} and {@link
 * Kubelet}, without sockets.
 */
public final class SimulatedCalls {
  /**
   * An answer to Allocate.
   *
   * @param refusal empty if it was granted
   * @param counted the replicas that the pick counts as
   */
  public record Answer(String refusal, Replicas counted) {}

  /** What a List has shown. */
  public record ReadBack(List<Holding> holdings, boolean complete, boolean confirmed) {}

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
  private @Nullable NodeReplicas published;

  public SimulatedCalls(HeldReplicas held) {
    this.held = held;
  }

  /** Returns the device lists that the kubelet gets: health by id, by resource. */
  public Map<String, Map<String, Boolean>> publish(NodeReplicas replicas, long nowMs) {
    published = replicas;
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

  public void receive(
      Assignment assignment, UnaryOperator<Assignment> withReplicasPerGpu, long nowMs) {
    var _ = assignments.receive(assignment, withReplicasPerGpu, nowMs);
  }

  public void retract(String uid, long nowMs) {
    var _ = assignments.retract(uid, nowMs);
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
                            .anyMatch(id -> now.hasGpu(ReplicaId.uuidOf(id)))));
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
      int size,
      @Nullable ListPodResourcesResponse list,
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
            Optional.ofNullable(list).map(PodList::new),
            Optional.empty(),
            held.duplicates(resource, of.replicas.sharing()),
            nowMs)
        .answer()
        .ids();
  }

  /** Answers Allocate; empty if the resource is not advertised. */
  public Optional<Answer> allocate(String resource, List<String> ids, long nowMs) {
    OfResource of = byResource.get(resource);
    if (of == null) {
      return Optional.empty();
    }
    Replicas counted = of.picks.of(ids, nowMs);
    int size = ids.size();
    var verdict =
        new Allocation(counted, HostNodes.NONE, held, NodeLimits.NONE)
            .decide(
                ids,
                of.calls.assigned(size, nowMs),
                of.calls.replicasPerGpu(size, nowMs),
                of.calls.mayBeAssigned(size, nowMs));
    return switch (verdict) {
      case Allocation.Verdict.Granted granted -> {
        of.calls.granted(size, nowMs);
        yield Optional.of(new Answer("", counted));
      }
      case Allocation.Verdict.Refused refused -> {
        of.calls.refused(size, nowMs);
        yield Optional.of(new Answer(refused.message(), counted));
      }
    };
  }
}
