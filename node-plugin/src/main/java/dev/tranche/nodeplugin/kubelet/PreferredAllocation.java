package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.GpuShare;
import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Which replicas the kubelet should take for one container: those of the assigned GPU, else best
 * fit on one GPU, else as few GPUs as possible. Never fails: at worst it names fewer than asked,
 * and the kubelet fills up by itself.
 */
public final class PreferredAllocation {
  /** How the answer came about; a label of a metric. */
  public enum Outcome {
    /** The assignment could be kept to the letter. */
    ASSIGNED,
    /** There was an assignment, but its GPU has no room for it. */
    ASSIGNED_FULL,
    /** No assignment; one GPU holds the whole share. */
    BEST_FIT,
    /** No assignment, and no single GPU has room. */
    SPREAD,
    /** No assignment; whole GPUs that are near each other. */
    ALIGNED,
    /** Stand-alone: NVIDIA's policy of that name. */
    DISTRIBUTED,
    /** Stand-alone: NVIDIA's policy of that name. */
    PACKED
  }

  /**
   * @param ids replica ids, at most as many as asked
   */
  public record Answer(List<String> ids, Outcome outcome) {}

  private final Map<String, List<String>> freeByGpu = new LinkedHashMap<>();
  private final Map<String, Integer> reserved;
  private final Set<String> picked = new LinkedHashSet<>();
  private final int size;

  private PreferredAllocation(
      Collection<String> available,
      Collection<String> mustInclude,
      int size,
      Map<String, Integer> reserved) {
    this.reserved = reserved;
    this.size = size;
    picked.addAll(mustInclude);
    available.stream()
        .filter(id -> !picked.contains(id))
        .sorted(BY_GPU_AND_ORDINAL)
        .forEach(
            id ->
                freeByGpu.computeIfAbsent(ReplicaId.uuidOf(id), uuid -> new ArrayList<>()).add(id));
  }

  // Length first, so that ::10 comes after ::9.
  private static final Comparator<String> BY_GPU_AND_ORDINAL =
      Comparator.comparing(ReplicaId::uuidOf)
          .thenComparingInt(String::length)
          .thenComparing(Comparator.naturalOrder());

  /**
   * Chooses.
   *
   * @param available ids that the kubelet may take
   * @param mustInclude ids that are in the answer in any case
   * @param size how many ids are wanted, those included
   * @param assigned the container's shares; empty: no assignment
   * @param reserved replicas by uuid that other containers were assigned and have not taken yet
   * @param whole how near the GPUs are to each other, if they are whole ones; empty: replicas
   */
  static Answer choose(
      Collection<String> available,
      Collection<String> mustInclude,
      int size,
      List<GpuShare> assigned,
      Map<String, Integer> reserved,
      Optional<GpuLinkScores> whole) {
    var choice = new PreferredAllocation(available, mustInclude, size, reserved);
    if (!assigned.isEmpty() && choice.assignedFits(assigned)) {
      assigned.forEach(choice::takeShare);
      return choice.answer(Outcome.ASSIGNED);
    }
    if (whole.isPresent() && choice.align(whole.get())) {
      return choice.answer(assigned.isEmpty() ? Outcome.ALIGNED : Outcome.ASSIGNED_FULL);
    }
    if (assigned.size() == 1 && choice.fitOnOne()) {
      return choice.answer(Outcome.ASSIGNED_FULL);
    }
    Outcome outcome = choice.fit() ? Outcome.BEST_FIT : Outcome.SPREAD;
    return choice.answer(assigned.isEmpty() ? outcome : Outcome.ASSIGNED_FULL);
  }

  private Answer answer(Outcome outcome) {
    return new Answer(picked.stream().limit(size).toList(), outcome);
  }

  /** Whether there were enough that nobody else was assigned. */
  private boolean align(GpuLinkScores near) {
    List<String> free = new ArrayList<>(picked);
    freeByGpu.keySet().stream().filter(uuid -> unreserved(uuid) > 0).forEach(free::add);
    List<String> chosen =
        Alignment.choose(free.stream().sorted().toList(), List.copyOf(picked), size, near);
    picked.addAll(chosen);
    return !chosen.isEmpty();
  }

  private boolean assignedFits(List<GpuShare> assigned) {
    int total = assigned.stream().mapToInt(GpuShare::getReplicas).sum();
    return total == size
        && assigned.stream().allMatch(s -> missing(s) >= 0 && missing(s) <= free(s.getUuid()));
  }

  /** Replicas of this share that no must-include covers; negative if they are more than it. */
  private int missing(GpuShare share) {
    return share.getReplicas() - pickedOn(share.getUuid());
  }

  private void takeShare(GpuShare share) {
    take(share.getUuid(), missing(share));
  }

  /**
   * Whether one GPU held all. Others' reserved replicas are touched only when nothing else is left.
   */
  private boolean fit() {
    int gpusBefore = freeByGpu.size();
    String bound = picked.isEmpty() ? "" : ReplicaId.uuidOf(picked.iterator().next());
    if (gpusBefore > 0 && left() <= unreserved(bound)) {
      take(bound, left());
      return true;
    }
    boolean whole = fitsOne();
    while (left() > 0 && spreadOnce(true)) {}
    while (left() > 0 && spreadOnce(false)) {}
    return whole;
  }

  /**
   * One share that is split is refused, which ends its pod for good. So it takes a whole place that
   * others were assigned, where there is no other: they may find theirs, which it was assigned.
   */
  private boolean fitOnOne() {
    if (!picked.isEmpty() || fitsOne()) {
      return false;
    }
    Optional<String> fullest =
        freeByGpu.keySet().stream()
            .filter(uuid -> free(uuid) >= size)
            .min(Comparator.comparingInt(this::free));
    fullest.ifPresent(uuid -> take(uuid, size));
    return fullest.isPresent();
  }

  private boolean fitsOne() {
    return picked.isEmpty()
        && freeByGpu.keySet().stream().anyMatch(uuid -> unreserved(uuid) >= left());
  }

  /** Takes from the fullest GPU that has room for what is left, else all of the emptiest one. */
  private boolean spreadOnce(boolean sparing) {
    Comparator<String> byRoom = Comparator.comparingInt(uuid -> room(uuid, sparing));
    String uuid =
        freeByGpu.keySet().stream()
            .filter(u -> room(u, sparing) >= left())
            .min(byRoom)
            .or(() -> freeByGpu.keySet().stream().max(byRoom))
            .orElse("");
    int taken = Math.min(left(), room(uuid, sparing));
    take(uuid, taken);
    return taken > 0;
  }

  private int left() {
    return size - picked.size();
  }

  private int pickedOn(String uuid) {
    return (int) picked.stream().filter(id -> ReplicaId.uuidOf(id).equals(uuid)).count();
  }

  private int room(String uuid, boolean sparing) {
    return sparing ? unreserved(uuid) : free(uuid);
  }

  private int free(String uuid) {
    return freeByGpu.getOrDefault(uuid, List.of()).size();
  }

  private int unreserved(String uuid) {
    return Math.max(0, free(uuid) - reserved.getOrDefault(uuid, 0));
  }

  private void take(String uuid, int count) {
    List<String> free = freeByGpu.getOrDefault(uuid, new ArrayList<>());
    for (int i = 0; i < count; i++) {
      picked.add(free.removeFirst());
    }
  }
}
