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
 * Chooses the replicas that the kubelet should take for one container. It prefers the assigned GPU,
 * then the best fit on one GPU, then as few GPUs as possible. It never fails: at worst it names
 * fewer replicas than requested, and the kubelet adds the rest itself.
 */
public final class PreferredAllocation {
  /** How the choice was made; a label of a metric. */
  public enum Outcome {
    /** The answer matches the assignment exactly. */
    ASSIGNED,
    /** There was an assignment, but its GPU has too few free replicas. */
    ASSIGNED_FULL,
    /** No assignment; one GPU holds the whole share. */
    BEST_FIT,
    /** No assignment, and no single GPU has enough free replicas. */
    SPREAD,
    /** No assignment; whole GPUs that are closely linked. */
    ALIGNED,
    /** Stand-alone: NVIDIA's policy of that name. */
    DISTRIBUTED,
    /** Stand-alone: NVIDIA's policy of that name. */
    PACKED
  }

  /**
   * @param ids replica ids, at most as many as requested
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

  private static final Comparator<String> BY_GPU_AND_ORDINAL =
      Comparator.comparing(ReplicaId::uuidOf).thenComparing(ReplicaId.BY_ORDINAL);

  /**
   * Chooses the replicas.
   *
   * @param available ids that the kubelet may take
   * @param mustInclude ids that the answer must contain
   * @param size number of ids requested, including {@code mustInclude}
   * @param assigned the container's assigned shares; empty if there is no assignment
   * @param reserved replicas by GPU uuid that are assigned to other containers and not taken yet
   * @param linkScores between the GPUs if the devices are whole GPUs; empty for replicas
   */
  static Answer choose(
      Collection<String> available,
      Collection<String> mustInclude,
      int size,
      List<GpuShare> assigned,
      Map<String, Integer> reserved,
      Optional<GpuLinkScores> linkScores) {
    var choice = new PreferredAllocation(available, mustInclude, size, reserved);
    if (!assigned.isEmpty() && choice.assignedFits(assigned)) {
      assigned.forEach(share -> choice.take(share.getUuid(), choice.missing(share)));
      return choice.answer(Outcome.ASSIGNED);
    }
    if (linkScores.isPresent() && choice.align(linkScores.get())) {
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

  /** Takes whole GPUs by their links. Returns whether enough of them were not reserved. */
  private boolean align(GpuLinkScores linkScores) {
    List<String> free = new ArrayList<>(picked);
    freeByGpu.keySet().stream().filter(uuid -> unreserved(uuid) > 0).forEach(free::add);
    List<String> chosen =
        Alignment.choose(free.stream().sorted().toList(), List.copyOf(picked), size, linkScores);
    picked.addAll(chosen);
    return !chosen.isEmpty();
  }

  private boolean assignedFits(List<GpuShare> assigned) {
    int total = assigned.stream().mapToInt(GpuShare::getReplicas).sum();
    return total == size
        && assigned.stream().allMatch(s -> missing(s) >= 0 && missing(s) <= free(s.getUuid()));
  }

  /** Returns how many replicas of this share are not picked yet; negative if too many are. */
  private int missing(GpuShare share) {
    return share.getReplicas() - pickedOn(share.getUuid());
  }

  /**
   * Picks the rest and returns whether one GPU held it all. Takes replicas that are reserved for
   * other containers only as a last resort.
   */
  private boolean fit() {
    int gpusBefore = freeByGpu.size();
    String bound = picked.isEmpty() ? "" : ReplicaId.uuidOf(picked.iterator().next());
    if (gpusBefore > 0 && left() <= unreserved(bound)) {
      take(bound, left());
      return true;
    }
    boolean onOneGpu = fitsOne();
    while (left() > 0 && spreadOnce(true)) {}
    while (left() > 0 && spreadOnce(false)) {}
    return onOneGpu;
  }

  /**
   * Takes the whole share from one GPU, even replicas that are reserved for other containers.
   * Allocate refuses a single share that is split, which ends its pod for good. The other
   * containers may get the replicas that were assigned to this one.
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

  /**
   * Takes from the fullest GPU that can hold the rest, else all free replicas of the emptiest GPU.
   */
  private boolean spreadOnce(boolean keepReserved) {
    Comparator<String> byUsable = Comparator.comparingInt(uuid -> usable(uuid, keepReserved));
    String uuid =
        freeByGpu.keySet().stream()
            .filter(u -> usable(u, keepReserved) >= left())
            .min(byUsable)
            .or(() -> freeByGpu.keySet().stream().max(byUsable))
            .orElse("");
    int taken = Math.min(left(), usable(uuid, keepReserved));
    take(uuid, taken);
    return taken > 0;
  }

  private int left() {
    return size - picked.size();
  }

  private int pickedOn(String uuid) {
    return (int) picked.stream().filter(id -> ReplicaId.uuidOf(id).equals(uuid)).count();
  }

  private int usable(String uuid, boolean keepReserved) {
    return keepReserved ? unreserved(uuid) : free(uuid);
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
