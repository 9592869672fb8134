package dev.tranche.simulate;

import dev.tranche.extender.ledger.NodeFacts;
import java.util.Set;

/**
 * A node as the API server has it.
 *
 * @param allocatable replicas that its kubelet counts as healthy
 * @param retries how often the extender has woken pods by it
 * @param cordoned uuids of GPUs that take no new pods
 * @param advertises whether the kubelet has ever advertised replicas
 */
record NodeObject(
    String name,
    long version,
    int allocatable,
    int retries,
    String config,
    Set<String> cordoned,
    boolean advertises)
    implements Stored {
  NodeObject {
    cordoned = Set.copyOf(cordoned);
  }

  @Override
  public String uid() {
    return name;
  }

  @Override
  public String key() {
    return name;
  }

  NodeFacts facts() {
    return new NodeFacts(name, cordoned, config, advertises);
  }

  NodeObject allocatable(long at, int replicas) {
    return new NodeObject(
        name, at, replicas, retries, config, cordoned, advertises || replicas > 0);
  }

  NodeObject retried(long at) {
    return new NodeObject(name, at, allocatable, retries + 1, config, cordoned, advertises);
  }

  NodeObject configured(long at, String to) {
    return new NodeObject(name, at, allocatable, retries, to, cordoned, advertises);
  }

  NodeObject cordoned(long at, Set<String> uuids) {
    return new NodeObject(name, at, allocatable, retries, config, uuids, advertises);
  }
}
