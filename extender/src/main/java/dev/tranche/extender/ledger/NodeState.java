package dev.tranche.extender.ledger;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One report of a node, without its load.
 *
 * @param serving registered with the kubelet and not draining
 * @param holdings replicas per uuid by {@code namespace/pod} and container, as the kubelet says
 * @param holdingsKnown false: an empty {@code holdings} says nothing
 * @param retired those of {@code holdings} that the node's config of now makes no more, by pod and
 *     uuid
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

  /** Replicas of an earlier config that a pod holds of a GPU. */
  int retired(String key, String uuid) {
    return retired.getOrDefault(key, Map.of()).getOrDefault(uuid, 0);
  }

  /**
   * What was held stays held while the kubelet cannot be asked. What of it is retired is known of
   * the GPUs as they were then only: of others all is counted, so that none is given twice.
   */
  NodeState orHoldingsOf(@Nullable NodeState before) {
    if (holdingsKnown || before == null) {
      return this;
    }
    var kept = gpus.equals(before.gpus) ? before.retired : Map.<String, Map<String, Integer>>of();
    return new NodeState(serving, gpus, before.holdings, before.holdingsKnown, kept, echoes);
  }

  /** Without what a pod that has ended held. */
  NodeState without(String key) {
    if (!holdings.containsKey(key)) {
      return this;
    }
    var others = new HashMap<>(holdings);
    others.remove(key);
    return new NodeState(serving, gpus, others, holdingsKnown, retired, echoes);
  }
}
