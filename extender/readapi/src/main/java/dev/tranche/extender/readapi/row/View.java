package dev.tranche.extender.readapi.row;

import dev.tranche.extender.ledger.Hold;
import java.util.Optional;

/**
 * How much of the cluster an answer shows. The view of one namespace shows its pods and the GPUs
 * that they hold; all other pods are one amount without names.
 *
 * @param namespace empty: all namespaces are shown
 */
public record View(Optional<String> namespace) {
  public static final View ALL = new View(Optional.empty());

  public static View of(String namespace) {
    return new View(Optional.of(namespace));
  }

  boolean shows(String other) {
    return namespace.isEmpty() || namespace.get().equals(other);
  }

  boolean shows(Hold hold) {
    return shows(hold.namespace());
  }
}
