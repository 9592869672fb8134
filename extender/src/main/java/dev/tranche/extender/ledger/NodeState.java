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
 * @param echoes assignments that the node keeps, whoever sent them
 */
public record NodeState(
    boolean serving,
    List<GpuFacts> gpus,
    Map<String, Map<String, Map<String, Integer>>> holdings,
    boolean holdingsKnown,
    List<Assignment> echoes) {
  public NodeState {
    gpus = List.copyOf(gpus);
    holdings = Map.copyOf(holdings);
    echoes = List.copyOf(echoes);
  }

  /** What was held stays held while the kubelet cannot be asked. */
  NodeState orHoldingsOf(@Nullable NodeState before) {
    return holdingsKnown || before == null
        ? this
        : new NodeState(serving, gpus, before.holdings, before.holdingsKnown, echoes);
  }

  /** Without what a pod that has ended held. */
  NodeState without(String key) {
    if (!holdings.containsKey(key)) {
      return this;
    }
    var others = new HashMap<>(holdings);
    others.remove(key);
    return new NodeState(serving, gpus, others, holdingsKnown, echoes);
  }
}
