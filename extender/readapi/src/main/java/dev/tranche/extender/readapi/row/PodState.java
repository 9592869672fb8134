package dev.tranche.extender.readapi.row;

import dev.tranche.extender.ledger.CamelCase;
import dev.tranche.extender.ledger.PodFacts;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The state of a pod, as the API names it. */
public enum PodState {
  WAITING,
  SCHEDULING,
  BOUND,
  ENDED;

  private final String text = CamelCase.of(this);

  static final Set<String> NAMES =
      Stream.of(values()).map(PodState::toString).collect(Collectors.toUnmodifiableSet());

  static PodState of(PodFacts pod, boolean held) {
    if (pod.ended()) {
      return ENDED;
    }
    if (pod.node() != null) {
      return BOUND;
    }
    return held ? SCHEDULING : WAITING;
  }

  @Override
  public String toString() {
    return text;
  }
}
