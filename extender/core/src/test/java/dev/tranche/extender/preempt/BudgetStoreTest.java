package dev.tranche.extender.preempt;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.LabelOperator;
import dev.tranche.api.Names;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PodLabels;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.preempt.Budget.Requirement;
import dev.tranche.extender.snapshot.Turn;
import dev.tranche.process.fuzz.Seeds;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Budgets are their namespaces' own: they are bounded, and protect more when they are not read. */
final class BudgetStoreTest {
  private final BudgetStore store = new BudgetStore();

  @Test
  void whetherABudgetSelectsAPod_isThatOfItsLabels() {
    List<String> operators = List.of("In", "NotIn", "Exists", "DoesNotExist", "Gt", "");
    for (long seed : Seeds.of(200)) {
      var random = new Random(seed);
      var labels = new HashMap<String, String>();
      for (int label = random.nextInt(5); label > 0; label--) {
        labels.put("k" + random.nextInt(6), "v" + random.nextInt(3));
      }
      String key = "k" + random.nextInt(6);
      String operator = operators.get(random.nextInt(operators.size()));
      Set<String> values = Set.of("v" + random.nextInt(3), "w");
      assertThat(new Requirement(key, operator, values).met(PodLabels.of(labels)))
          .as("seed %d: %s %s %s of %s", seed, key, operator, values, labels)
          .isEqualTo(
              LabelOperator.matches(operator, values, LabelOperator.NO_NUMBER, labels.get(key)));
    }
  }

  @Test
  void aPodWithTooManyLabels_countsAsSelectedByItsNamespacesBudgets() {
    var labels = new HashMap<String, String>();
    for (int i = 0; i <= PodLabels.LABELS_MAX; i++) {
      labels.put("k" + i, "v");
    }
    store.put(budget("ns", "db", 0));
    assertThat(violates(pod("ns", labels))).isTrue();
    assertThat(violates(pod("ns", Map.of("app", "web")))).isFalse();
    assertThat(violates(pod("other", labels))).isFalse();
  }

  @Test
  void beyondTheBoundOfANamespace_itsPodsAreProtected_untilTheBudgetIsGone() {
    for (int i = 0; i < BudgetStore.PER_NAMESPACE_MAX; i++) {
      store.put(budget("ns", "b" + i, 1));
    }
    assertThat(violates(pod("ns", Map.of("app", "web")))).isFalse();
    store.put(budget("ns", "one-more", 1));
    store.put(budget("ns", "one-more", 1));
    assertThat(violates(pod("ns", Map.of("app", "web")))).isTrue();
    assertThat(violates(pod("other", Map.of("app", "web")))).isFalse();
    store.gone("ns/one-more");
    assertThat(violates(pod("ns", Map.of("app", "web")))).isFalse();
  }

  @Test
  void aBudgetThatIsTooLarge_protectsAll_andASmallerOneInItsPlaceIsRead() {
    store.put(tooLarge("db"));
    assertThat(violates(pod("ns", Map.of("app", "web")))).isTrue();
    store.put(budget("ns", "db", 1));
    assertThat(violates(pod("ns", Map.of("app", "web")))).isFalse();
  }

  /** The API server bounds no key of {@code status.disruptedPods}. */
  @Test
  void aBudgetWithALongText_isTooLarge() {
    var selects = new Requirement("app", "In", Set.of("db"));
    for (int chars : List.of(317, 318)) {
      store.put(new Budget("ns", "db", List.of(selects), 1, Set.of("p".repeat(chars))));
      assertThat(violates(pod("ns", Map.of("app", "web")))).isEqualTo(chars == 318);
    }
  }

  @Test
  void textsOfEqualHashes_areDifferentLabels() {
    assertThat("Aa".hashCode()).isEqualTo("BB".hashCode());
    var labels = PodLabels.of(Map.of("app", "Aa"));
    assertThat(new Requirement("app", "NotIn", Set.of("BB")).met(labels)).isTrue();
    assertThat(new Requirement("app", "In", Set.of("Aa")).met(labels)).isTrue();
  }

  /** Otherwise a namespace could spend what preemption may do for the others. */
  @Test
  void manyBudgetsOfANamespace_costAsMuchAsOne() {
    for (int i = 0; i < 20_000; i++) {
      store.put(budget("ns", "b" + i, 1));
    }
    var turn = new Turn(() -> 0);
    store.budgets(turn).violators(List.of(pod("ns", Map.of("app", "web"))));
    assertThat(turn.work()).isLessThan(3 * BudgetStore.PER_NAMESPACE_MAX);
  }

  @Test
  void budgetsThatAreTooLarge_takeNoPlaceOfOthers() {
    for (int i = 0; i < BudgetStore.PER_NAMESPACE_MAX; i++) {
      store.put(tooLarge("large" + i));
    }
    store.put(budget("ns", "db", 1));
    for (int i = 0; i < BudgetStore.PER_NAMESPACE_MAX; i++) {
      store.gone("ns/large" + i);
    }
    assertThat(violates(pod("ns", Map.of("app", "web")))).isFalse();
  }

  private boolean violates(PodFacts pod) {
    return store.budgets(new Turn(() -> 0)).violators(List.of(pod)).contains(pod.uid());
  }

  private static Budget tooLarge(String name) {
    var long7000 = Collections.nCopies(7_000, new Requirement("key", "In", Set.of("value")));
    return new Budget("ns", name, long7000, 1, Set.of());
  }

  private static Budget budget(String namespace, String name, int allowed) {
    var selects = new Requirement("app", "In", Set.of("db"));
    return new Budget(namespace, name, List.of(selects), allowed, Set.of());
  }

  private static PodFacts pod(String namespace, Map<String, String> labels) {
    return new PodFacts(
            "u", namespace, "p", "node", false, true, Names.RESOURCE, List.of(), Map.of())
        .with(new PreemptionInfo(0, labels, 1, false, null));
  }
}
