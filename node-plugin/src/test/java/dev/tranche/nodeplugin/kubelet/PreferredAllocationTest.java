package dev.tranche.nodeplugin.kubelet;

import static dev.tranche.nodeplugin.kubelet.AllocationCallsRig.share;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.GpuShare;
import dev.tranche.nodeplugin.kubelet.PreferredAllocation.Answer;
import dev.tranche.nodeplugin.kubelet.PreferredAllocation.Outcome;
import dev.tranche.process.fuzz.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PreferredAllocationTest {
  private static List<String> free(Map<String, Integer> byGpu) {
    List<String> ids = new ArrayList<>();
    byGpu.forEach(
        (gpu, count) -> IntStream.range(0, count).forEach(k -> ids.add(ReplicaId.of(gpu, k))));
    return ids;
  }

  private static Answer choose(
      List<String> available,
      List<String> must,
      int size,
      List<GpuShare> assigned,
      Map<String, Integer> reserved) {
    return PreferredAllocation.choose(available, must, size, assigned, reserved, Optional.empty());
  }

  @Test
  void assignedGpu_isChosenThoughAnotherIsFuller() {
    Answer answer =
        choose(free(Map.of("A", 3, "B", 10)), List.of(), 3, List.of(share("B", 3)), Map.of());
    assertThat(answer.outcome()).isEqualTo(Outcome.ASSIGNED);
    assertThat(answer.ids()).containsExactly("B::0", "B::1", "B::2");
  }

  @Test
  void assignedShares_onTwoGpus_areTakenAsTheyAre() {
    Answer answer =
        choose(
            free(Map.of("A", 10, "B", 10)),
            List.of(),
            15,
            List.of(share("B", 10), share("A", 5)),
            Map.of());
    assertThat(answer.outcome()).isEqualTo(Outcome.ASSIGNED);
    assertThat(answer.ids()).filteredOn(id -> id.startsWith("B")).hasSize(10);
    assertThat(answer.ids()).hasSize(15);
  }

  @Test
  void assignedGpuWithoutRoom_fallsBackToOneGpu() {
    Answer answer =
        choose(free(Map.of("A", 4, "B", 1)), List.of(), 3, List.of(share("B", 3)), Map.of());
    assertThat(answer.outcome()).isEqualTo(Outcome.ASSIGNED_FULL);
    assertThat(answer.ids()).allMatch(id -> id.startsWith("A"));
  }

  /** Another took its place, and has left its own: a split share would be refused for good. */
  @Test
  void assignedShare_takesAPromisedPlace_ratherThanBeingSplit() {
    Answer answer =
        choose(
            free(Map.of("A", 2, "B", 3, "C", 2)),
            List.of(),
            3,
            List.of(share("A", 3)),
            Map.of("B", 3));
    assertThat(answer.outcome()).isEqualTo(Outcome.ASSIGNED_FULL);
    assertThat(answer.ids()).containsExactly("B::0", "B::1", "B::2");
  }

  @Test
  void noAssignment_takesTheFullestGpuWithRoom() {
    Answer answer =
        choose(free(Map.of("A", 10, "B", 4, "C", 2)), List.of(), 3, List.of(), Map.of());
    assertThat(answer.outcome()).isEqualTo(Outcome.BEST_FIT);
    assertThat(answer.ids()).containsExactly("B::0", "B::1", "B::2");
  }

  @Test
  void replicasPromisedToOthers_countAsUsed() {
    Answer answer = choose(free(Map.of("A", 10, "B", 4)), List.of(), 3, List.of(), Map.of("B", 2));
    assertThat(answer.ids()).allMatch(id -> id.startsWith("A"));
  }

  @Test
  void noSingleGpuWithRoom_takesFewGpus() {
    Answer answer = choose(free(Map.of("A", 2, "B", 3, "C", 1)), List.of(), 4, List.of(), Map.of());
    assertThat(answer.outcome()).isEqualTo(Outcome.SPREAD);
    assertThat(answer.ids()).containsExactly("B::0", "B::1", "B::2", "C::0");
  }

  @Test
  void promisedReplicas_areTakenOnlyWhenNothingElseIsLeft() {
    Answer answer = choose(free(Map.of("A", 2, "B", 2)), List.of(), 3, List.of(), Map.of("A", 2));
    assertThat(answer.ids()).hasSize(3).filteredOn(id -> id.startsWith("B")).hasSize(2);
  }

  @Test
  void mustInclude_isKeptAndDrawsTheRestToItsGpu() {
    Answer answer = choose(free(Map.of("A", 3, "B", 10)), List.of("B::9"), 3, List.of(), Map.of());
    assertThat(answer.ids()).contains("B::9").hasSize(3).allMatch(id -> id.startsWith("B"));
  }

  @Test
  void ordinals_areTakenInTheirOrder() {
    Answer answer = choose(free(Map.of("A", 12)), List.of(), 11, List.of(), Map.of());
    assertThat(answer.ids()).startsWith("A::0", "A::1", "A::2").endsWith("A::9", "A::10");
  }

  @Test
  void anyRequest_isAnsweredInFullFromWhatIsAvailable() {
    for (long seed : Seeds.of(200)) {
      answersWell(Seeds.random(seed), "seed " + seed);
    }
  }

  private static void answersWell(RandomGenerator random, String where) {
    Map<String, Integer> byGpu = new HashMap<>();
    Map<String, Integer> reserved = new HashMap<>();
    for (int gpu = 0; gpu < 1 + random.nextInt(5); gpu++) {
      byGpu.put("G" + gpu, random.nextInt(11));
      reserved.put("G" + gpu, random.nextInt(11));
    }
    List<String> available = free(byGpu);
    if (available.isEmpty()) {
      return;
    }
    int size = 1 + random.nextInt(available.size());
    List<String> must = available.subList(0, random.nextInt(size));
    Answer answer = choose(available, must, size, List.of(), reserved);
    assertThat(answer.ids()).as(where).hasSize(size).doesNotHaveDuplicates().containsAll(must);
    assertThat(available).as(where).containsAll(answer.ids());
    boolean oneHasRoom =
        byGpu.entrySet().stream()
            .anyMatch(g -> g.getValue() - reserved.getOrDefault(g.getKey(), 0) >= size);
    if (must.isEmpty() && oneHasRoom) {
      assertThat(answer.ids().stream().map(ReplicaId::uuidOf).collect(Collectors.toSet()))
          .as(where)
          .hasSize(1);
    }
  }
}
