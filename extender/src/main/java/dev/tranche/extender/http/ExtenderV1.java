package dev.tranche.extender.http;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.verb.Preempt;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The part of kube-scheduler's extender API, v1, that we read. Its Go types have no JSON tags, so
 * its keys are capitalised.
 *
 * @see <a href="https://pkg.go.dev/k8s.io/kube-scheduler/extender/v1">extender/v1</a>
 */
public final class ExtenderV1 {
  private ExtenderV1() {}

  /**
   * The arguments of filter, prioritize and preempt.
   *
   * @param pod empty if it requests none of our resources
   * @param nodeNames null unless the extender is configured with {@code nodeCacheCapable}
   * @param victims by node, for preempt alone; null likewise
   * @param host CPU and memory that the pod requests
   * @param hasNodePreferences the pod prefers some nodes to others: by preferred affinity or
   *     topology spread
   * @param group the pod's PodGroup, {@code namespace/name}; empty if it has none
   */
  public record ExtenderArgs(
      Optional<PodFacts> pod,
      @Nullable List<String> nodeNames,
      @Nullable Map<String, Preempt.VictimUids> victims,
      HostRequest host,
      boolean hasNodePreferences,
      String group) {}

  public record ExtenderBindingArgs(
      @JsonProperty("PodName") String podName,
      @JsonProperty("PodNamespace") String podNamespace,
      @JsonProperty("PodUID") String podUid,
      @JsonProperty("Node") String node) {
    public String key() {
      return podNamespace + "/" + podName;
    }
  }

  /** The body isn't a valid request. */
  public static final class MalformedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public MalformedException(String message) {
      super(message);
    }
  }
}
