package dev.tranche.extender.invariant;

import dev.tranche.api.GpuPart;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A cluster at one moment, as far as the invariants need it: from a simulator, from a soak, or read
 * from a running cluster.
 *
 * @param holds of the extender that decides; none while there is none
 */
public record ObservedCluster(List<Pod> pods, List<Hold> holds) {
  /**
   * @param key {@code namespace/name}
   * @param node that it is bound to; null while it waits
   * @param ended in phase Succeeded or Failed, or gone from the API server
   * @param promised parts by GPU uuid, as {@code tranche.dev/gpu} on the pod says
   * @param allocated parts by GPU uuid that the kubelet has given to its containers; empty before
   *     its admission
   * @param mayHaveAnotherGpu at its admission the promised GPU had too few healthy free replicas,
   *     or the plugin had to guess which pod it was
   * @param startsOnUnhealthyGpu the kubelet gave it a GPU that was unhealthy before the pod was
   *     bound
   * @param fitsOn a node that could take the waiting pod now; null if there is none
   */
  public record Pod(
      String uid,
      String key,
      @Nullable String node,
      boolean ended,
      Map<String, GpuPart> promised,
      Map<String, GpuPart> allocated,
      boolean mayHaveAnotherGpu,
      boolean startsOnUnhealthyGpu,
      @Nullable String fitsOn) {
    /** Whether the kubelet has given it a GPU other than the promised ones. */
    public boolean isElsewhere() {
      return !promised.isEmpty() && !promised.keySet().containsAll(allocated.keySet());
    }

    /** Returns what it has or still will get; a promise that was not kept binds nobody. */
    Map<String, GpuPart> promisedStill() {
      return isElsewhere() || isDividedOtherwise() ? Map.of() : promised;
    }

    /** Whether it has as much as was promised, but more of one GPU and less of another. */
    private boolean isDividedOtherwise() {
      return !allocated.equals(promised) && total(allocated).equals(total(promised));
    }

    private static GpuPart total(Map<String, GpuPart> parts) {
      return parts.values().stream().reduce(GpuPart.NONE, GpuPart::plus);
    }
  }

  /**
   * What the extender records of a pod.
   *
   * @param parts by GPU uuid
   */
  public record Hold(String uid, String key, String node, Map<String, GpuPart> parts) {}
}
