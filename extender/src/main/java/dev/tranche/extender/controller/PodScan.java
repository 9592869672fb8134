package dev.tranche.extender.controller;

import dev.tranche.extender.ledger.PodFacts;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Looks for a mistake among the pods that request GPUs, and has an event written about each that
 * lasts. Confined to the event loop.
 */
public final class PodScan implements Controller {
  private final ControllerContext context;
  private final Supplier<Collection<PodFacts>> pods;
  private final Rule rule;
  private final MistakeEvents events;

  /** By uid, since when the pods have had it. */
  private final Map<String, Long> sinceMs = new HashMap<>();

  /** Where in the list of pods the next turn begins. */
  private int start;

  /**
   * A mistake of pods as the Ledger knows them.
   *
   * @param afterMs how long it lasts before it is told
   * @param podsMax how many pods are judged in one turn of the loop
   * @param concerned the pods that may have it
   * @param judge made for each turn with such pods, from what is true then; returns what to tell
   *     the owner of a pod that has it
   */
  public record Rule(
      PodMistake mistake,
      long afterMs,
      int podsMax,
      Predicate<PodFacts> concerned,
      Supplier<Function<PodFacts, Optional<Supplier<String>>>> judge) {}

  /**
   * @param pods all that request GPUs
   */
  public PodScan(
      ControllerContext context,
      Supplier<Collection<PodFacts>> pods,
      Rule rule,
      MistakeEvents events) {
    this.context = context;
    this.pods = pods;
    this.rule = rule;
    this.events = events;
  }

  @Override
  public void everyTenSeconds() {
    // Who does not decide forgets: meanwhile a mistake may end and begin again.
    List<PodFacts> concerned =
        context.deciding() ? pods.get().stream().filter(rule.concerned()).toList() : List.of();
    if (!concerned.isEmpty()) {
      var judge = rule.judge().get();
      next(concerned).forEach(pod -> judged(pod, judge.apply(pod).orElse(null)));
    }
    Set<String> uids = concerned.stream().map(PodFacts::uid).collect(Collectors.toSet());
    sinceMs.keySet().retainAll(uids);
    events.retain(rule.mistake(), sinceMs.keySet());
  }

  /** Returns the pods whose turn it is. */
  private Stream<PodFacts> next(List<PodFacts> all) {
    int from = start < all.size() ? start : 0;
    start = from + Math.min(rule.podsMax(), all.size());
    return all.stream().skip(from).limit(rule.podsMax());
  }

  private void judged(PodFacts pod, @Nullable Supplier<String> sentence) {
    long nowMs = context.nowMs();
    if (sentence == null) {
      sinceMs.remove(pod.uid());
    } else if (nowMs - sinceMs.computeIfAbsent(pod.uid(), first -> nowMs) >= rule.afterMs()) {
      events.add(rule.mistake(), pod.key(), pod.uid(), sentence);
    }
  }
}
