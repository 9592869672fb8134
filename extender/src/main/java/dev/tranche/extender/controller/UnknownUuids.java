package dev.tranche.extender.controller;

import dev.tranche.api.AllowList;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.vertx.core.Future;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes an event for each pod whose annotation names a GPU that no node reports. Such a name
 * neither allows nor excludes anything, and a list with other names in it may still fit. Confined
 * to the event loop.
 */
public final class UnknownUuids implements Controller {
  static final String REASON = "UnknownGpuRequested";

  /** A node that restarts reports its GPUs again within that time. */
  static final long AFTER_MS = 60_000;

  /** How many pods are looked at in one turn of the loop: each names up to 64 GPUs. */
  static final int PODS_MAX = 500;

  private static final int SHOWN_MAX = 3;

  private final Supplier<Collection<PodFacts>> pods;
  private final Supplier<Stream<GpuFacts>> gpus;
  private final LongSupplier clockMs;
  private final BooleanSupplier deciding;
  private final PodEventQueue events;

  /** Since when a pod has named a GPU that is not known, by the pod's uid. */
  private final Map<String, Long> sinceMs = new HashMap<>();

  /** The uid of the pod that was looked at last; the next turn begins after it. */
  private String lastUid = "";

  /**
   * @param pods all that request GPUs
   * @param gpus of all nodes; asked only if a pod names GPUs
   * @param deciding whether this extender may decide at all, as a leader does
   */
  public UnknownUuids(
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
            "tranche.extender.unknown.uuid.events",
            "Events for pods whose annotation names GPUs that no node reports.");
  }

  /** Checks the next pods that name GPUs. */
  @Override
  public void everyTenSeconds() {
    if (!deciding.getAsBoolean()) {
      sinceMs.clear();
      return;
    }
    var naming = new TreeMap<String, PodFacts>();
    for (PodFacts pod : pods.get()) {
      if (!pod.ended() && pod.annotations().containsKey(Names.GPU_UUID)) {
        naming.put(pod.uid(), pod);
      }
    }
    Set<String> known =
        naming.isEmpty()
            ? Set.of()
            : gpus.get().map(gpu -> AllowList.normalize(gpu.uuid())).collect(Collectors.toSet());
    long nowMs = clockMs.getAsLong();
    for (PodFacts pod : next(naming)) {
      look(pod, known, nowMs);
    }
    sinceMs.keySet().retainAll(naming.keySet());
    events.retain(sinceMs.keySet());
  }

  /** Returns the pods whose turn it is, in the order of their uids, which goes round. */
  private List<PodFacts> next(NavigableMap<String, PodFacts> naming) {
    List<PodFacts> next =
        Stream.concat(
                naming.tailMap(lastUid, false).values().stream(),
                naming.headMap(lastUid, true).values().stream())
            .limit(PODS_MAX)
            .toList();
    lastUid = next.isEmpty() ? "" : next.getLast().uid();
    return next;
  }

  private void look(PodFacts pod, Set<String> known, long nowMs) {
    var list = AllowList.parse(pod.annotations().get(Names.GPU_UUID));
    List<String> unknown =
        Stream.concat(list.allowed().stream(), list.denied().stream().map(uuid -> "!" + uuid))
            .filter(entry -> !known.contains(entry.startsWith("!") ? entry.substring(1) : entry))
            .sorted()
            .toList();
    if (unknown.isEmpty()) {
      sinceMs.remove(pod.uid());
      return;
    }
    long first = sinceMs.computeIfAbsent(pod.uid(), found -> nowMs);
    if (nowMs - first >= AFTER_MS && !events.knows(pod.uid())) {
      events.add(pod.key(), pod.uid(), message(unknown));
    }
  }

  /** Once a second. */
  @Override
  public void tick() {
    if (deciding.getAsBoolean()) {
      events.tick();
    }
  }

  private static String message(List<String> unknown) {
    String shown =
        unknown.stream().limit(SHOWN_MAX).map(Printable::value).collect(Collectors.joining(", "));
    int more = unknown.size() - SHOWN_MAX;
    return "%s names %s%s, which no node reports, so that it has no effect. Correct it: kubectl tranche top gpus -o wide lists the uuids."
        .formatted(Names.GPU_UUID, shown, more > 0 ? " and %d more".formatted(more) : "");
  }
}
