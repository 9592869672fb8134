package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.tranche.api.Printable;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A pod, why it is where it is, and kube-scheduler's message about it. */
public record PodDetail(
    @JsonUnwrapped Pod pod,
    Map<String, String> annotations,
    @Nullable Decision decision,
    @Nullable String schedulerMessage) {
  static PodDetail of(
      PodFacts pod, Optional<Hold> hold, @Nullable Decision decision, @Nullable Waiting waiting) {
    return new PodDetail(
        Pod.of(new PodRow("", pod, hold, List.of()), waiting),
        Collections.unmodifiableMap(new TreeMap<>(pod.annotations())),
        decision,
        null);
  }

  /**
   * Names the pods that hold the room, where a higher priority does not help.
   *
   * @param view whose pods have names
   */
  public PodDetail namingHolders(Snapshot snapshot, View view) {
    return decision == null
        ? this
        : new PodDetail(pod, annotations, decision.namingHolders(snapshot, view), schedulerMessage);
  }

  /**
   * @param row the pod as lists show it; empty if the newest snapshot does not have it yet
   * @param message kube-scheduler's own message about a waiting pod
   */
  public PodDetail with(Optional<Pod> row, Optional<String> message) {
    return new PodDetail(
        row.orElse(pod), annotations, decision, message.map(Printable::message).orElse(null));
  }
}
