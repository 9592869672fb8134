package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.ReplicaId;
import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import dev.tranche.nodeplugin.gpu.Replica;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.kubelet.PreferredAllocation.Answer;
import dev.tranche.nodeplugin.kubelet.PreferredAllocation.Outcome;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Chooses the replicas that the kubelet should take when there is no extender, as NVIDIA's plugin
 * does. Whole GPUs are chosen by how closely they are linked, shared GPUs and MIG devices by the
 * policy. If there are too few devices, NVIDIA's plugin fails; this one names fewer than requested.
 */
final class StandaloneAllocation {
  private final Replicas replicas;
  private final boolean packed;
  private final Map<String, Integer> allocated = new HashMap<>();
  private final Map<String, Integer> picked = new HashMap<>();

  private StandaloneAllocation(Replicas replicas) {
    this.replicas = replicas;
    this.packed = replicas.config().packed();
  }

  /**
   * Chooses the replicas.
   *
   * @param available ids that the kubelet may take
   * @param mustInclude ids that the answer must contain
   * @param size number of ids requested, including {@code mustInclude}
   */
  static Answer choose(
      Replicas replicas,
      List<String> available,
      List<String> mustInclude,
      int size,
      GpuLinkScores linkScores) {
    if (wholeGpus(replicas, available)) {
      List<String> inOrder = inOrder(replicas, new HashSet<>(available));
      return new Answer(Alignment.choose(inOrder, mustInclude, size, linkScores), Outcome.ALIGNED);
    }
    return new StandaloneAllocation(replicas).greedy(available, mustInclude, size);
  }

  /**
   * Returns the ids without as many of each GPU as the kubelet gave to a second pod. Its parts of
   * the GPU are taken, although ids are left.
   *
   * @param duplicates by GPU uuid
   */
  static List<String> free(List<String> available, Map<String, Integer> duplicates) {
    Map<String, Integer> left = new HashMap<>(duplicates);
    return available.stream()
        .filter(id -> left.merge(ReplicaId.uuidOf(id), -1, Integer::sum) < 0)
        .toList();
  }

  /** Returns whether all are whole GPUs: neither replicas of shared GPUs nor MIG devices. */
  static boolean wholeGpus(Replicas replicas, List<String> available) {
    return available.stream()
        .allMatch(
            id ->
                id.equals(ReplicaId.uuidOf(id))
                    && replicas.gpuOf(id).flatMap(GpuInfo::migDevice).isEmpty());
  }

  /**
   * Returns those of the ids that the plugin advertises, in NVML's order instead of the kubelet's.
   */
  static List<String> inOrder(Replicas replicas, Set<String> ids) {
    return replicas.all().stream().map(Replica::id).filter(ids::contains).toList();
  }

  private Answer greedy(List<String> available, List<String> mustInclude, int size) {
    Set<String> free = new HashSet<>(available);
    mustInclude.forEach(free::remove);
    replicas.all().forEach(replica -> allocated.merge(replica.gpu().uuid(), 1, Integer::sum));
    // By GPU, in NVML's order: all free replicas of a GPU are equally good.
    Map<String, Deque<String>> candidates = new LinkedHashMap<>();
    for (String id : inOrder(replicas, free)) {
      String uuid = ReplicaId.uuidOf(id);
      allocated.merge(uuid, -1, Integer::sum);
      candidates.computeIfAbsent(uuid, u -> new ArrayDeque<>()).add(id);
    }
    List<String> chosen = new ArrayList<>(mustInclude);
    while (chosen.size() < size && !candidates.isEmpty()) {
      chosen.add(next(candidates));
    }
    return new Answer(chosen, packed ? Outcome.PACKED : Outcome.DISTRIBUTED);
  }

  /**
   * Takes one replica of the GPU that the policy prefers. Among equals, takes from the GPU with the
   * fewest picked replicas.
   */
  private String next(Map<String, Deque<String>> candidates) {
    Comparator<String> byAllocated =
        Comparator.comparingInt(uuid -> allocated.getOrDefault(uuid, 0));
    Comparator<String> byPolicy = packed ? byAllocated.reversed() : byAllocated;
    String best =
        candidates.keySet().stream()
            .min(byPolicy.thenComparing(uuid -> picked.getOrDefault(uuid, 0)))
            .orElseThrow();
    Deque<String> free = Objects.requireNonNull(candidates.get(best));
    String id = free.removeFirst();
    if (free.isEmpty()) {
      candidates.remove(best);
    }
    picked.merge(best, 1, Integer::sum);
    allocated.merge(best, 1, Integer::sum);
    return id;
  }
}
