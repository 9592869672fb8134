package dev.tranche.extender.ledger;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Facts of pods and GPUs with few fields. A pod is of the namespace ns, and its uid is its name.
 */
public final class TestFacts {
  private TestFacts() {}

  public static PodFacts pod(
      String name,
      @Nullable String node,
      Map<String, String> annotations,
      Demand.Request... requests) {
    return new PodFacts(
        name, "ns", name, node, false, false, Names.RESOURCE, List.of(requests), annotations);
  }

  /** A request of its container main. */
  public static Demand.Request main(int replicas) {
    return new Demand.Request("main", Demand.Kind.APP, replicas);
  }

  /** The pod in another state. */
  public static PodFacts with(PodFacts pod, boolean ended, boolean running) {
    return Views.facts(pod, pod.node(), ended, running, pod.annotations());
  }

  public static PodFacts running(PodFacts pod) {
    return with(pod, false, true);
  }

  /** The pod in another namespace. */
  public static PodFacts in(String namespace, PodFacts pod) {
    return new PodFacts(
        pod.uid(),
        namespace,
        pod.name(),
        pod.node(),
        false,
        false,
        pod.resource(),
        pod.requests(),
        pod.annotations());
  }

  public static GpuFacts gpu(String uuid, int index, int replicas, long usableBytes) {
    return gpu(uuid, index, replicas, usableBytes, 0);
  }

  /**
   * @param withheld replicas that no pod can get
   */
  public static GpuFacts gpu(String uuid, int index, int replicas, long usableBytes, int withheld) {
    return gpu(uuid, index, replicas, usableBytes, withheld, 0);
  }

  /** A GPU that MPS shares. */
  public static GpuFacts mpsGpu(
      String uuid, int index, int replicas, long usableBytes, int clientsMax) {
    return gpu(uuid, index, replicas, usableBytes, 0, clientsMax);
  }

  private static GpuFacts gpu(
      String uuid, int index, int replicas, long usableBytes, int withheld, int clientsMax) {
    return new GpuFacts(
        uuid,
        index,
        "Tesla T4",
        Names.RESOURCE,
        replicas,
        usableBytes,
        true,
        "",
        clientsMax,
        "",
        withheld,
        Map.of());
  }
}
