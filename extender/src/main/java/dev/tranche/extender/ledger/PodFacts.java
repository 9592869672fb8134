package dev.tranche.extender.ledger;

import dev.tranche.api.AllowList;
import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.placement.GpuRequest;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * What we keep of a pod that asks for GPUs.
 *
 * @param node that it is bound to
 * @param ended in phase Succeeded or Failed: it holds nothing any more, though it still exists. A
 *     terminating pod has not ended.
 * @param running its containers have started
 * @param resource that it asks for; of a pod that asks for several, all their names in one, which
 *     no GPU serves
 * @param requests in the order of admission
 * @param annotations ours only
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
    PreemptionInfo standing) {
  /** Between the names of several resources. */
  static final String SEVERAL = " and ";

  private static final int REPLICAS_MAX = 10_000;

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
        PreemptionInfo.NONE);
  }

  /** The same pod as preemption sees it. */
  public PodFacts with(PreemptionInfo other) {
    return new PodFacts(
        uid, namespace, name, node, ended, running, resource, requests, annotations, other);
  }

  /** {@code namespace/name}. */
  public String key() {
    return namespace + "/" + name;
  }

  /** The same pod, bound. */
  public PodFacts on(String boundTo) {
    return new PodFacts(
        uid, namespace, name, boundTo, ended, running, resource, requests, annotations, standing);
  }

  /** Whether the pod counts against GPUs of a resource. */
  static boolean takesFrom(String asked, String served) {
    return asked.equals(served)
        || (asked.contains(SEVERAL) && List.of(asked.split(SEVERAL, -1)).contains(served));
  }

  /** Whether the kubelet lists it: what only ordinary init containers have it does not. */
  boolean listed() {
    return requests.stream().anyMatch(request -> request.kind() != Demand.Kind.INIT);
  }

  /** R by the webhook's stamp; empty for a plain request. */
  public OptionalInt stampedReplicas() {
    String stamp = annotations.get(Names.REPLICAS_PER_GPU);
    if (stamp == null || !stamp.matches("[1-9]\\d{0,4}")) {
      return OptionalInt.empty();
    }
    return OptionalInt.of(Math.min(REPLICAS_MAX, Integer.parseInt(stamp)));
  }

  /**
   * @param nodeReplicas R of the node, for a pod without a stamp
   */
  public Demand demand(int nodeReplicas) {
    return Demand.of(resource, stampedReplicas().orElse(nodeReplicas), requests, annotations);
  }

  /** As {@link #demand}, with what the pod says of GPUs. */
  public GpuRequest ask(int nodeReplicas) {
    return new GpuRequest(
        demand(nodeReplicas),
        stampedReplicas(),
        AllowList.parse(annotations.get(Names.GPU_MODEL)),
        AllowList.parse(annotations.get(Names.GPU_UUID)));
  }
}
