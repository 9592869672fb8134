package dev.tranche.extender.ledger;

import dev.tranche.api.AllowList;
import dev.tranche.api.Demand;
import dev.tranche.api.LimitRequest;
import dev.tranche.api.Names;
import dev.tranche.api.Quantity;
import dev.tranche.api.RequestBounds;
import dev.tranche.extender.placement.GpuRequest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a pod with GPU requests that the extender keeps.
 *
 * @param node that it is bound to; null if it is not bound
 * @param ended in phase Succeeded or Failed: it still exists, but holds nothing. A terminating pod
 *     has not ended.
 * @param running its containers have started
 * @param resource that it requests; for a pod that requests several, all their names joined, which
 *     no GPU serves
 * @param requests in the order of admission
 * @param annotations only those that Tranche reads; see {@link KeptAnnotations}
 * @param scheduler what kube-scheduler says of it; nothing once it is bound
 */
public record PodFacts(
    String uid,
    String namespace,
    String name,
    @Nullable String node,
    boolean ended,
    boolean running,
    String resource,
    List<Demand.Request> requests,
    Map<String, String> annotations,
    PreemptionInfo preemption,
    SchedulerVerdict scheduler) {
  /** Separates the names of several resources. */
  static final String SEVERAL = " and ";

  private static final int REPLICAS_DIGITS_MAX = 5;

  /** The record with its usual strings. */
  private static final int OBJECT_BYTES = 700;

  /** An entry of a list or map with its usual strings. */
  private static final int ENTRY_BYTES = 160;

  public PodFacts {
    requests = List.copyOf(requests);
    annotations = Map.copyOf(annotations);
  }

  public PodFacts(
      String uid,
      String namespace,
      String name,
      @Nullable String node,
      boolean ended,
      boolean running,
      String resource,
      List<Demand.Request> requests,
      Map<String, String> annotations) {
    this(
        uid,
        namespace,
        name,
        node,
        ended,
        running,
        resource,
        requests,
        annotations,
        PreemptionInfo.NONE,
        SchedulerVerdict.NONE);
  }

  /** Returns the same pod with other fields for preemption. */
  public PodFacts with(PreemptionInfo other) {
    return with(node, other, scheduler);
  }

  /** Returns the same pod as kube-scheduler says something else of it. */
  public PodFacts with(SchedulerVerdict other) {
    return with(node, preemption, other);
  }

  private PodFacts with(
      @Nullable String otherNode, PreemptionInfo otherPreemption, SchedulerVerdict otherVerdict) {
    return new PodFacts(
        uid,
        namespace,
        name,
        otherNode,
        ended,
        running,
        resource,
        requests,
        annotations,
        otherPreemption,
        otherVerdict);
  }

  /** Returns about how much memory it takes. */
  public int bytes() {
    int values = annotations.values().stream().mapToInt(String::length).sum();
    return OBJECT_BYTES + ENTRY_BYTES * (requests.size() + annotations.size()) + 2 * values;
  }

  /** {@code namespace/name}. */
  public String key() {
    return namespace + "/" + name;
  }

  /** Returns the same pod, bound to a node. */
  public PodFacts on(String boundTo) {
    return with(boundTo, preemption, SchedulerVerdict.NONE);
  }

  /** Returns whether a pod that requests a resource counts against GPUs of the served one. */
  static boolean countsAgainst(String requested, String served) {
    return requested.equals(served)
        || (requested.contains(SEVERAL) && List.of(requested.split(SEVERAL, -1)).contains(served));
  }

  /**
   * Returns whether the kubelet lists the pod; it omits what only ordinary init containers have.
   */
  boolean listed() {
    return requests.stream().anyMatch(request -> request.kind() != Demand.Kind.INIT);
  }

  /** Returns whether this was read before the other. */
  boolean isOlderThan(PodFacts other) {
    return (other.ended() && !ended()) || (other.node != null && node == null);
  }

  /** Returns whether the pod was deleted before its kubelet accepted it. */
  boolean deletedUnstarted() {
    return preemption.deletionAtMs() > 0 && !preemption.started();
  }

  /**
   * Returns whether the webhook left the pod to nodes whose GPUs others serve. Its numbers count
   * replicas nowhere.
   */
  public boolean servedByOthers() {
    return Names.OTHER.equals(annotations.get(Names.SERVED_BY));
  }

  /**
   * Returns whether the pod holds GPUs of ours, or waits for some. One that was left to foreign
   * nodes counts on ours too, if it came there by another way.
   */
  public boolean isCounted() {
    return !servedByOthers() || node != null;
  }

  /** Returns whether it is on no node yet. */
  public boolean isPending() {
    return node == null && !ended;
  }

  /** Returns the R that the webhook has written on the pod; empty for a plain request. */
  public OptionalInt stampedReplicas() {
    String stamp = annotations.getOrDefault(Names.REPLICAS_PER_GPU, "");
    int replicas = stamp.length() > REPLICAS_DIGITS_MAX ? 0 : Quantity.positive(stamp);
    return replicas == 0
        ? OptionalInt.empty()
        : OptionalInt.of(Math.min(RequestBounds.REPLICAS_MAX, replicas));
  }

  /**
   * @param nodeReplicas R of the node, for a pod that does not carry an R itself
   */
  public Demand demand(int nodeReplicas) {
    return Demand.of(resource, stampedReplicas().orElse(nodeReplicas), requests, annotations);
  }

  /** Returns what the pod says about its containers' memory limits, in bytes. */
  Map<String, Long> memoryLimits() {
    Map<String, Long> limits = new HashMap<>();
    for (Demand.Request request : requests) {
      LimitRequest.of(annotations, request.container())
          .ifPresent(bytes -> limits.put(request.container(), bytes));
    }
    return limits;
  }

  /** Returns the {@link #demand} together with the pod's restrictions on GPUs. */
  public GpuRequest gpuRequest(int nodeReplicas) {
    return new GpuRequest(
        demand(nodeReplicas),
        stampedReplicas(),
        AllowList.parse(annotations.get(Names.GPU_MODEL)),
        AllowList.parse(annotations.get(Names.GPU_UUID)));
  }
}
