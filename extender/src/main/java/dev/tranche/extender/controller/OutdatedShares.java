package dev.tranche.extender.controller;

import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes events for pending pods whose share was sized for a number of replicas per GPU that no
 * node has any more. Their node affinity keeps them off every node, so kube-scheduler never asks
 * the extender about them, and its own message does not say why. Confined to the event loop.
 */
public final class OutdatedShares implements Controller {
  static final String REASON = "GpuReplicasChanged";

  /**
   * The delay before an event: a config reaches all nodes within that time, and a node may come
   * back with the old number.
   */
  static final long AFTER_MS = 30_000;

  private final Supplier<Collection<PodFacts>> pods;
  private final Supplier<Stream<GpuFacts>> gpus;
  private final LongSupplier clockMs;
  private final BooleanSupplier deciding;
  private final PodEventQueue events;

  private static final SortedSet<Integer> NONE = Collections.emptySortedSet();

  /** Since when no node has had a pod's number of replicas, by the pod's uid. */
  private Map<String, Long> sinceMs = Map.of();

  /**
   * @param pods all that request GPUs
   * @param gpus of all nodes; asked only if a pod is pending
   * @param deciding whether this extender may decide at all, as a leader does
   */
  public OutdatedShares(
      Supplier<Collection<PodFacts>> pods,
      Supplier<Stream<GpuFacts>> gpus,
      Function<Event, Future<?>> writer,
      BooleanSupplier deciding,
      LongSupplier clockMs,
      ExtenderMetrics metrics) {
    this.pods = pods;
    this.gpus = gpus;
    this.clockMs = clockMs;
    this.deciding = deciding;
    this.events =
        new PodEventQueue(
            REASON,
            writer,
            metrics,
            "tranche.extender.outdated.share.events",
            "Events for pending pods that were sized for a number of replicas that no node has.");
    metrics.gauge(
        "tranche.extender.outdated.share.pods",
        "Pending pods that were sized for a number of replicas that no node has; 10,000 at most.",
        events::pods);
  }

  /** Checks the pending pods. */
  @Override
  public void everyTenSeconds() {
    if (!deciding.getAsBoolean()) {
      // Nothing is checked meanwhile: the numbers may come back and go again.
      sinceMs = Map.of();
      return;
    }
    List<PodFacts> pending = new ArrayList<>();
    long nowMs = clockMs.getAsLong();
    for (PodFacts pod : pods.get()) {
      if (pod.node() == null && !pod.ended()) {
        pending.add(pod);
      }
    }
    Map<String, SortedSet<Integer>> offered =
        pending.isEmpty() ? Map.of() : replicasByResource(gpus.get());
    Map<String, Long> since = new HashMap<>();
    for (PodFacts pod : pending) {
      SortedSet<Integer> now = offered.getOrDefault(pod.resource(), NONE);
      int stamped = now.isEmpty() ? 0 : pod.stampedReplicas().orElse(0);
      if (stamped > 0 && !now.contains(stamped)) {
        long first = sinceMs.getOrDefault(pod.uid(), nowMs);
        since.put(pod.uid(), first);
        if (nowMs - first >= AFTER_MS && !events.knows(pod.uid())) {
          events.add(pod.key(), pod.uid(), message(stamped, now));
        }
      }
    }
    sinceMs = since;
    events.retain(since.keySet());
  }

  private static Map<String, SortedSet<Integer>> replicasByResource(Stream<GpuFacts> gpus) {
    var byResource = new HashMap<String, SortedSet<Integer>>();
    gpus.forEach(
        gpu ->
            byResource
                .computeIfAbsent(gpu.resource(), first -> new TreeSet<>())
                .add(gpu.replicas()));
    return byResource;
  }

  /** Once a second. */
  @Override
  public void tick() {
    if (deciding.getAsBoolean()) {
      events.tick();
    }
  }

  private static String message(int stamped, SortedSet<Integer> now) {
    String numbers = now.stream().limit(5).map(Object::toString).collect(Collectors.joining(", "));
    return "this pod's share was sized for GPUs of %d replicas, and the nodes now have GPUs of %s. Delete the pod to resize its share; its owner recreates it."
        .formatted(stamped, numbers);
  }
}
