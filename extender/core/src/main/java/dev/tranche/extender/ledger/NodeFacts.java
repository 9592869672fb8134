package dev.tranche.extender.ledger;

import java.util.Set;

/**
 * The fields of a Node that the extender keeps.
 *
 * @param cordoned uuids of GPUs that take no new pods
 * @param config the config that its label selects; empty without a label
 * @param advertises whether the kubelet has ever advertised a resource of ours
 */
public record NodeFacts(String name, Set<String> cordoned, String config, boolean advertises) {
  public NodeFacts {
    cordoned = Set.copyOf(cordoned);
  }
}
