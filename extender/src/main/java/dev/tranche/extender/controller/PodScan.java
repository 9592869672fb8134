package dev.tranche.extender.controller;

import dev.tranche.extender.ledger.PodFacts;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Looks for a mistake among the pods that request GPUs, and has an event written about each that
 * lasts. Confined to the event loop.
 */
public final class PodScan implements Controller {
  private final Rule rule;
  private final Supplier<Collection<PodFacts>> pods;
  private final MistakeEvents events;
  private final BooleanSupplier deciding;
  private final LongSupplier clockMs;

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
   * @param deciding whether this extender may decide at all, as a leader does
   */
  public PodScan(
      Rule rule,
      Supplier<Collection<PodFacts>> pods,
      MistakeEvents events,
      BooleanSupplier deciding,
      LongSupplier clockMs) {
    this.rule = rule;
    this.pods = pods;
    this.events = events;
    this.deciding = deciding;
    this.clockMs = clockMs;
  }

  @Override
  public void everyTenSeconds() {
    // Who does not decide forgets: meanwhile a mistake may end and begin again.
    List<PodFacts> concerned =
        deciding.getAsBoolean() ? pods.get().stream().filter(rule.concerned()).toList() : List.of();
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
      since.put(uid, new Since(now.get().evidence(), clockMs.getAsLong()));
      events.remove(rule.mistake(), uid);
    } else if (clockMs.getAsLong() - before.atMs() >= rule.afterMs()) {
      events.add(rule.mistake(), pod.key(), uid, now.get().sentence());
    }
  }
}
