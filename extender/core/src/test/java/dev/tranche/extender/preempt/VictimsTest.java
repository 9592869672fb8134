package dev.tranche.extender.preempt;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.preempt.Budget.Requirement;
import dev.tranche.extender.preempt.Victims.Candidate;
import dev.tranche.extender.snapshot.Turn;
import dev.tranche.process.fuzz.Seeds;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

/** On GPUs of ten replicas that the candidates fill. */
final class VictimsTest {
  private static final Budgets NONE = new Budgets(namespace -> List.of(), new Turn(() -> 0));

  @Test
  void victims_freeOneGpu_notManyHoles() {
    // By totals any two of the four would do.
    var candidates =
        List.of(
            candidate("a1", 0, 5, "a", 1),
            candidate("a2", 0, 5, "a", 2),
            candidate("b1", 0, 5, "b", 3),
            candidate("b2", 5, 5, "b", 4));
    assertThat(uids(choose(candidates, NONE, 10, Set.of("a1", "b1"))))
        .containsExactlyInAnyOrder("a1", "a2");
  }

  @Test
  void offer_thatFreesAGpu_isTakenUnlessOthersAreBetter() {
    var candidates = List.of(candidate("a", 0, 10, "a", 1), candidate("b", 0, 10, "b", 1));
    assertThat(uids(choose(candidates, NONE, 10, Set.of("b")))).containsExactly("b");
    var dearer = List.of(candidate("a", 0, 10, "a", 1), candidate("b", 1, 10, "b", 1));
    assertThat(uids(choose(dearer, NONE, 10, Set.of("b")))).containsExactly("a");
  }

  @Test
  void lowestPriority_thenFewest_thenYoungest() {
    var priority = List.of(candidate("a", 2, 10, "a", 1), candidate("b", 1, 10, "b", 1));
    assertThat(uids(choose(priority, NONE, 5, Set.of()))).containsExactly("b");
    var count =
        List.of(
            candidate("a1", 1, 5, "a", 1),
            candidate("a2", 1, 5, "a", 1),
            candidate("b", 1, 10, "b", 1));
    assertThat(uids(choose(count, NONE, 10, Set.of()))).containsExactly("b");
    var age = List.of(candidate("a", 1, 10, "a", 7), candidate("b", 1, 10, "b", 3));
    assertThat(uids(choose(age, NONE, 10, Set.of()))).containsExactly("a");
  }

  @Test
  void budget_isKeptWhereAnotherPodCanGo() {
    var budgets = budgets(budget(0));
    var candidates =
        List.of(labelled(candidate("a", 0, 10, "a", 1)), candidate("b", 9, 10, "b", 1));
    NodeVictims choice = choose(candidates, budgets, 10, Set.of());
    assertThat(uids(choice)).containsExactly("b");
    assertThat(choice.violations()).isZero();
    var all = List.of(labelled(candidate("a", 0, 10, "a", 1)));
    assertThat(choose(all, budgets, 10, Set.of()).violations()).isOne();
    assertThat(choose(all, budgets(budget(1)), 10, Set.of()).violations()).isZero();
  }

  @Test
  void terminatingPod_costsNothing() {
    var candidates =
        List.of(candidate("a", 0, 10, "a", 1), terminating(candidate("b", 9, 10, "b", 1)));
    assertThat(uids(choose(candidates, NONE, 10, Set.of()))).containsExactly("b");
  }

  @Test
  void nothingHelps_isEmpty() {
    var victims = new Victims(NONE, Victims.Bound.NONE, gone -> false);
    assertThat(victims.choose(List.of(candidate("a", 0, 10, "a", 1)), List.of())).isEmpty();
  }

  @Test
  void mostImportantVictim_isFirst() {
    var candidates =
        List.of(
            candidate("low", 1, 3, "a", 1),
            candidate("high", 3, 4, "a", 1),
            candidate("mid", 2, 3, "a", 1));
    assertThat(choose(candidates, NONE, 10, Set.of()).victims())
        .extracting(PodFacts::uid)
        .containsExactly("high", "mid", "low");
  }

  /**
   * Against every set that there is: one GPU is freed, nobody goes in vain, priorities are lowest.
   */
  @Test
  void random_agreesWithExhaustiveSearch() {
    for (long seed : Seeds.of(50)) {
      RandomGenerator random = Seeds.random(seed);
      var candidates = new ArrayList<Candidate>();
      for (int i = 0; i < 8; i++) {
        String gpu = i % 2 == 0 ? "a" : "b";
        candidates.add(candidate("p" + i, random.nextInt(4), 1 + random.nextInt(4), gpu, i));
      }
      int needs = 1 + random.nextInt(8);
      Optional<NodeVictims> chosen = victims(candidates, NONE, needs).choose(candidates, List.of());
      int least = leastHighestPriority(candidates, needs);
      assertThat(chosen.isPresent()).as("seed %d", seed).isEqualTo(least < Integer.MAX_VALUE);
      if (chosen.isPresent() && !chosen.get().victims().isEmpty()) {
        var gone = new HashSet<>(uids(chosen.get()));
        assertThat(fits(candidates, needs, gone)).as("seed %d", seed).isTrue();
        assertThat(chosen.get().victims().getFirst().preemption().priority())
            .as("seed %d", seed)
            .isEqualTo(least);
        for (String uid : uids(chosen.get())) {
          var fewer = new HashSet<>(gone);
          fewer.remove(uid);
          assertThat(fits(candidates, needs, fewer)).as("seed %d: %s", seed, uid).isFalse();
        }
      }
    }
  }

  private static int leastHighestPriority(List<Candidate> candidates, int needs) {
    int least = Integer.MAX_VALUE;
    for (int set = 0; set < 1 << candidates.size(); set++) {
      var gone = new HashSet<String>();
      int highest = Integer.MIN_VALUE;
      for (int i = 0; i < candidates.size(); i++) {
        if ((set >> i & 1) == 1) {
          gone.add(candidates.get(i).pod().uid());
          highest = Math.max(highest, candidates.get(i).pod().preemption().priority());
        }
      }
      if (fits(candidates, needs, gone)) {
        least = Math.min(least, highest);
      }
    }
    return least;
  }

  private static NodeVictims choose(
      List<Candidate> candidates, Budgets budgets, int needs, Set<String> offered) {
    List<Candidate> proposed =
        candidates.stream().filter(c -> offered.contains(c.pod().uid())).toList();
    return victims(candidates, budgets, needs).choose(candidates, proposed).orElseThrow();
  }

  private static Victims victims(List<Candidate> candidates, Budgets budgets, int needs) {
    return new Victims(budgets, Victims.Bound.NONE, gone -> fits(candidates, needs, gone));
  }

  private static boolean fits(List<Candidate> candidates, int needs, Set<String> gone) {
    var gpus = new HashSet<String>();
    candidates.forEach(c -> gpus.addAll(c.held().keySet()));
    for (String gpu : gpus) {
      int held =
          candidates.stream()
              .filter(c -> !gone.contains(c.pod().uid()))
              .mapToInt(c -> c.held().getOrDefault(gpu, 0))
              .sum();
      if (held + needs <= 10) {
        return true;
      }
    }
    return false;
  }

  private static List<String> uids(NodeVictims choice) {
    return choice.victims().stream().map(PodFacts::uid).toList();
  }

  private static Candidate candidate(String uid, int priority, int replicas, String gpu, long age) {
    var preemption = new PreemptionInfo(priority, Map.of(), age, false, null);
    return new Candidate(pod(uid).with(preemption), Map.of(gpu, replicas));
  }

  private static Candidate labelled(Candidate candidate) {
    var preemption = candidate.pod().preemption();
    var labelled = new PreemptionInfo(preemption.priority(), Map.of("app", "db"), 1, false, null);
    return new Candidate(candidate.pod().with(labelled), candidate.held());
  }

  private static Candidate terminating(Candidate candidate) {
    var preemption =
        new PreemptionInfo(candidate.pod().preemption().priority(), Map.of(), 1, true, null);
    return new Candidate(candidate.pod().with(preemption), candidate.held());
  }

  private static Budgets budgets(Budget budget) {
    return new Budgets(
        namespace -> namespace.equals("ns") ? List.of(budget) : List.of(), new Turn(() -> 0));
  }

  private static Budget budget(int allowed) {
    var selects = new Requirement("app", "In", Set.of("db"));
    return new Budget("ns", "db", List.of(selects), allowed, Set.of());
  }

  private static PodFacts pod(String uid) {
    return new PodFacts(uid, "ns", uid, "node", false, true, Names.RESOURCE, List.of(), Map.of());
  }
}
