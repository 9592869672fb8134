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
 * @param retired replicas of {@code holdings} that the node's current config no longer makes, by
 *     pod and uuid
 * @param echoes assignments that the node keeps, whoever sent them
 */
public record NodeState(
    boolean serving,
    List<GpuFacts> gpus,
    Map<String, Map<String, Map<String, Integer>>> holdings,
    boolean holdingsKnown,
    Map<String, Map<String, Integer>> retired,
    List<Assignment> echoes) {
  public NodeState {
    gpus = List.copyOf(gpus);
    holdings = Map.copyOf(holdings);
    retired = Map.copyOf(retired);
    echoes = List.copyOf(echoes);
  }

  /** Returns how many replicas of an earlier config a pod holds on a GPU. */
  int retired(String key, String uuid) {
    return retired.getOrDefault(key, Map.of()).getOrDefault(uuid, 0);
  }

  /**
   * Keeps the earlier holdings while the kubelet cannot be asked. Retired replicas are kept only if
   * the GPUs are unchanged. Otherwise all holdings count, so that no replica is given out twice.
   */
  NodeState orHoldingsOf(@Nullable NodeState before) {
    if (holdingsKnown || before == null) {
      return this;
    }
    var kept = gpus.equals(before.gpus) ? before.retired : Map.<String, Map<String, Integer>>of();
    return new NodeState(serving, gpus, before.holdings, before.holdingsKnown, kept, echoes);
  }

  /** Returns the state without the holdings of a pod that has ended. */
  NodeState without(String key) {
    if (!holdings.containsKey(key)) {
      return this;
    }
    var others = new HashMap<>(holdings);
    others.remove(key);
    return new NodeState(serving, gpus, others, holdingsKnown, retired, echoes);
  }
}
