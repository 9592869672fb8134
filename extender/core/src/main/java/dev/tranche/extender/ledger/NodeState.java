package dev.tranche.extender.ledger;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One report of a node, without its load.
 *
 * @param serving registered with the kubelet and not draining
 * @param holdings replicas by {@code namespace/pod}, container and uuid, as the kubelet lists them
 * @param holdingsKnown if false, an empty {@code holdings} means nothing
 * @param grants what a pod's replicas were granted as, by pod and uuid; empty for a node that does
 *     not tell
 * @param echoes assignments that the node keeps, whoever sent them
 */
public record NodeState(
    boolean serving,
    List<GpuFacts> gpus,
    Map<String, Map<String, Map<String, Integer>>> holdings,
    boolean holdingsKnown,
    Map<String, Map<String, Grant>> grants,
    List<Assignment> echoes) {
  /**
   * What replicas were granted as.
   *
   * @param of the R that they are counted in; 0 if not known
   * @param earlier whether an earlier config of the node granted them, as another part of the GPU
   *     or under another resource
   */
  public record Grant(int of, boolean earlier) {
    static final Grant UNKNOWN = new Grant(0, false);

    /** Returns the grant that is the larger part of the GPU. */
    public Grant orLarger(Grant other) {
      return other.of < of ? other : this;
    }
  }

  public NodeState {
    gpus = List.copyOf(gpus);
    holdings = Map.copyOf(holdings);
    grants = Map.copyOf(grants);
    echoes = List.copyOf(echoes);
  }

  /** Returns what a pod's replicas on a GPU were granted as. */
  Grant grant(String key, String uuid) {
    return grants.getOrDefault(key, Map.of()).getOrDefault(uuid, Grant.UNKNOWN);
  }

  /** Keeps the earlier holdings while the kubelet cannot be asked. */
  NodeState orHoldingsOf(@Nullable NodeState before) {
    return holdingsKnown || before == null
        ? this
        : new NodeState(
            serving, gpus, before.holdings, before.holdingsKnown, before.grants, echoes);
  }

  /** Returns the state without the holdings of a pod that has ended. */
  NodeState without(String key) {
    if (!holdings.containsKey(key)) {
      return this;
    }
    var others = new HashMap<>(holdings);
    others.remove(key);
    return new NodeState(serving, gpus, others, holdingsKnown, grants, echoes);
  }
}
