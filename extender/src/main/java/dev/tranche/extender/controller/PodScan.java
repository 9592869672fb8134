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
  private final Map<String, Since> since = new HashMap<>();

  /** Where in the list of pods the next turn begins. */
  private int start;

  private record Since(Object evidence, long atMs) {}

  /**
   * A mistake of pods as the Ledger knows them.
   *
   * @param afterMs how long it lasts before it is told
   * @param podsMax how many pods are judged in one turn of the loop
   * @param concerned the pods that may have it
   * @param judge made for each turn with such pods, from what is true then
   */
  public record Rule(
      PodMistake mistake,
      long afterMs,
      int podsMax,
      Predicate<PodFacts> concerned,
      Supplier<Function<PodFacts, Optional<Found>>> judge) {}

  /**
   * What a pod has.
   *
   * @param evidence a pod whose evidence changes has it from then on
   */
  public record Found(Object evidence, Supplier<String> sentence) {}

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
      Function<PodFacts, Optional<Found>> judge = rule.judge().get();
      next(concerned).forEach(pod -> found(pod, judge.apply(pod)));
    }
    Set<String> uids = concerned.stream().map(PodFacts::uid).collect(Collectors.toSet());
    since.keySet().retainAll(uids);
    events.retain(rule.mistake(), since.keySet());
  }

  /** Returns the pods whose turn it is. */
  private Stream<PodFacts> next(List<PodFacts> all) {
    int from = start < all.size() ? start : 0;
    start = from + Math.min(rule.podsMax(), all.size());
    return all.stream().skip(from).limit(rule.podsMax());
  }

  private void found(PodFacts pod, Optional<Found> now) {
    String uid = pod.uid();
    Since before = since.get(uid);
    if (now.isEmpty()) {
      since.remove(uid);
    } else if (before == null || !before.evidence().equals(now.get().evidence())) {
      since.put(uid, new Since(now.get().evidence(), context.nowMs()));
      events.remove(rule.mistake(), uid);
    } else if (context.nowMs() - before.atMs() >= rule.afterMs()) {
      events.add(rule.mistake(), pod.key(), uid, now.get().sentence());
    }
  }
}
