package dev.tranche.simulate.script;

import java.util.function.Consumer;

/**
 * What happens to a scheduler. {@code e2e/recorded/record.sh} records what a real one does then; a
 * test compares the model with that.
 */
@SuppressWarnings("ImmutableEnumChecker") // The steps keep nothing.
public enum SchedulingScript implements Script<SchedulingStage> {
  ONE_NODE_FITS_BY_TOTALS(
      on -> {
        on.node("a", 10);
        on.node("b", 2);
        on.pod("p", 3);
        on.pass(2);
      }),
  TWO_NODES_FIT(
      on -> {
        twoNodes(on);
        on.extender().prefer("b");
        on.pod("p", 3);
        on.pass(2);
      }),
  EXTENDER_LEAVES_ONE_NODE(
      on -> {
        twoNodes(on);
        on.extender().refuse("p", false, "a");
        on.pod("p", 3);
        on.pass(2);
      }),
  REFUSED_POD_IS_LEFT_ALONE(
      on -> {
        twoNodes(on);
        on.extender().refuse("p", true, "a", "b");
        on.pod("p", 3);
        on.pass(20);
      }),
  REFUSED_POD_IS_WOKEN_BY_AN_ANNOTATION(
      on -> {
        refusedPod(on);
        on.pass(3);
        on.extender().accept("p");
        on.annotate("a");
        on.pass(2);
      }),
  REFUSED_POD_IS_WOKEN_BY_A_DELETION(
      on -> {
        oneNode(on);
        on.pod("q", 3);
        on.pass(2);
        on.extender().refuse("p", true, "a");
        on.pod("p", 3);
        on.pass(3);
        on.delete("q");
        on.pass(2);
        on.extender().accept("p");
        on.gone("q");
        on.pass(2);
      }),
  REFUSED_POD_IS_WOKEN_BY_A_POD_THAT_ENDS(
      on -> {
        oneNode(on);
        on.pod("q", 3);
        on.pass(2);
        on.extender().refuse("p", true, "a");
        on.pod("p", 3);
        on.pass(3);
        on.extender().accept("p");
        on.succeed("q");
        on.pass(2);
      }),
  REFUSED_POD_IS_WOKEN_BY_A_NEW_NODE(
      on -> {
        refusedPod(on);
        on.pass(3);
        on.node("b", 10);
        on.pass(2);
      }),
  REFUSED_POD_AND_A_NODE_THAT_SHRINKS(
      on -> {
        refusedPod(on);
        on.pass(3);
        on.replicas("a", 8);
        on.pass(3);
      }),
  REFUSED_POD_AND_A_NODE_THAT_IS_REMOVED(
      on -> {
        twoNodes(on);
        on.extender().refuse("p", true, "a", "b");
        on.pod("p", 3);
        on.pass(3);
        on.remove("b");
        on.pass(3);
      }),
  REFUSED_POD_AND_A_POD_THAT_IS_BOUND(
      on -> {
        refusedPod(on);
        on.pass(3);
        on.pod("q", 3);
        on.pass(3);
      }),
  REFUSED_AGAIN_AND_AGAIN(
      on -> {
        refusedPod(on);
        for (int i = 0; i < 8; i++) {
          on.pass(1);
          on.annotate("a");
        }
        on.pass(10);
      }),
  REFUSED_WHILE_ITS_NODE_CHANGES(
      on -> {
        oneNode(on);
        on.extender().refuse("p", true, "a");
        on.extender().slow("filter", "p", 2);
        on.pod("p", 3);
        on.pass(1);
        on.extender().accept("p");
        on.annotate("a");
        on.pass(8);
      }),
  TOO_LITTLE_IN_TOTAL_UNTIL_THE_NODE_GROWS(
      on -> {
        on.node("a", 2);
        on.pod("p", 3);
        on.pass(2);
        on.annotate("a");
        on.pass(2);
        on.replicas("a", 10);
        on.pass(2);
      }),
  TOO_LITTLE_IN_TOTAL_UNTIL_A_POD_IS_GONE(
      on -> {
        on.node("a", 4);
        on.pod("q", 3);
        on.pass(2);
        on.pod("p", 3);
        on.pass(2);
        on.delete("q");
        on.pass(2);
        on.gone("q");
        on.pass(2);
      }),
  TOO_LITTLE_IN_TOTAL_UNTIL_A_POD_ENDS(
      on -> {
        on.node("a", 4);
        on.pod("q", 3);
        on.pass(2);
        on.pod("p", 3);
        on.pass(2);
        on.succeed("q");
        on.pass(2);
      }),
  FILTER_FAILS(
      on -> {
        oneNode(on);
        on.extender().fail("filter", "p", 3);
        on.pod("p", 3);
        on.pass(14);
      }),
  FILTER_FAILS_WHILE_ANOTHER_POD_WAITS(
      on -> {
        oneNode(on);
        on.extender().fail("filter", "p", 2);
        on.pod("p", 3);
        on.pass(1);
        on.pod("q", 3);
        on.pass(8);
      }),
  BINDING_FAILS(
      on -> {
        oneNode(on);
        on.extender().fail("bind", "p", 2);
        on.pod("p", 3);
        on.pass(8);
      }),
  BINDING_THAT_TAKES_LONG_HOLDS_ITS_ROOM(
      on -> {
        on.node("a", 4);
        on.extender().slow("bind", "p", 3);
        on.pod("p", 3);
        on.pass(1);
        on.pod("q", 3);
        on.pass(5);
      }),
  BINDING_THAT_FAILS_LATE_FREES_ITS_ROOM(
      on -> {
        on.node("a", 4);
        on.extender().slow("bind", "p", 3);
        on.extender().fail("bind", "p", 1);
        on.pod("p", 3);
        on.pass(1);
        on.pod("q", 3);
        on.pass(8);
      }),
  HIGHER_PRIORITY_IS_TAKEN_FIRST(
      on -> {
        oneNode(on);
        on.extender().slow("filter", "first", 3);
        on.pod("first", 1);
        on.pass(1);
        on.pod("low", 1, 0);
        on.pod("high", 1, 100);
        on.pass(5);
      }),
  EQUAL_PRIORITY_IS_TAKEN_BY_AGE(
      on -> {
        oneNode(on);
        on.extender().slow("filter", "first", 3);
        on.pod("first", 1);
        on.pass(1);
        on.pod("second", 1);
        on.pass(1);
        on.pod("third", 1);
        on.pass(5);
      }),
  TWO_WAITING_PODS_ARE_WOKEN_AT_ONCE(
      on -> {
        oneNode(on);
        on.extender().refuse("low", true, "a");
        on.extender().refuse("high", true, "a");
        on.pod("low", 1, 0);
        on.pass(1);
        on.pod("high", 1, 100);
        on.pass(4);
        on.extender().accept("low");
        on.extender().accept("high");
        on.annotate("a");
        on.pass(3);
      }),
  WAITING_POD_IS_DELETED(
      on -> {
        refusedPod(on);
        on.pass(2);
        on.delete("p");
        on.pass(1);
        on.annotate("a");
        on.pass(3);
      }),
  SCHEDULER_STARTS_AGAIN(
      on -> {
        refusedPod(on);
        on.pass(1);
        on.pod("q", 3);
        on.pass(2);
        on.extender().accept("p");
        on.restartScheduler();
        on.pass(3);
      }),
  PREEMPTION(
      on -> {
        highEvictsLow(on);
        on.gone("low");
        on.pass(3);
      }),
  PREEMPTION_TAKES_AS_FEW_AS_IT_CAN(
      on -> {
        on.node("a", 10);
        victims(on);
        on.pod("high", 5, 100);
        on.pass(3);
      }),
  PREEMPTION_TAKES_THE_NODE_OF_THE_LEAST_IMPORTANT_PODS(
      on -> {
        victimsOnTwoNodes(on);
        on.pod("high", 4, 100);
        on.pass(3);
      }),
  PREEMPTION_THAT_THE_EXTENDER_DENIES(
      on -> {
        on.node("a", 10);
        on.pod("low", 8, 0);
        on.pass(2);
        on.extender().evictOnlyOn();
        on.pod("high", 5, 100);
        on.pass(5);
        on.annotate("a");
        on.pass(3);
      }),
  PREEMPTION_THAT_THE_EXTENDER_DIRECTS(
      on -> {
        victimsOnTwoNodes(on);
        on.extender().evictOnlyOn("a");
        on.pod("high", 4, 100);
        on.pass(3);
      }),
  PREEMPTION_THAT_FAILS(
      on -> {
        on.node("a", 10);
        on.pod("low", 8, 0);
        on.pass(2);
        on.extender().fail("preempt", "high", 1);
        on.pod("high", 5, 100);
        on.pass(6);
        on.annotate("a");
        on.pass(3);
      }),
  REFUSED_FOR_A_REASON_THAT_EVICTION_ENDS(
      on -> {
        on.node("a", 10);
        on.pod("low", 5, 0);
        on.pass(2);
        on.extender().refuse("high", false, "a");
        on.pod("high", 5, 100);
        on.pass(3);
      }),
  EVICTION_THAT_LASTS(
      on -> {
        highEvictsLow(on);
        on.annotate("a");
        on.pass(3);
        on.node("b", 10);
        on.pass(3);
      }),
  ROOM_OF_A_NOMINATED_POD(
      on -> {
        highEvictsLow(on);
        on.extender().slow("filter", "high", 3);
        on.gone("low");
        on.pass(1);
        on.pod("small", 4, 0);
        on.pod("large", 6, 0);
        on.pass(6);
      }),
  NODE_OF_A_NOMINATED_POD_IS_REMOVED(
      on -> {
        highEvictsLow(on);
        on.remove("a");
        on.gone("low");
        on.pass(3);
        on.node("b", 10);
        on.pass(4);
      });

  private final Consumer<SchedulingStage> steps;

  SchedulingScript(Consumer<SchedulingStage> steps) {
    this.steps = steps;
  }

  @Override
  public void play(SchedulingStage stage) {
    steps.accept(stage);
  }

  private static void oneNode(SchedulingStage on) {
    on.node("a", 10);
  }

  private static void twoNodes(SchedulingStage on) {
    on.node("a", 10);
    on.node("b", 10);
  }

  /** Its only node does not fit, and no eviction can help. */
  private static void refusedPod(SchedulingStage on) {
    oneNode(on);
    on.extender().refuse("p", true, "a");
    on.pod("p", 3);
  }

  private static void highEvictsLow(SchedulingStage on) {
    oneNode(on);
    on.pod("low", 8, 0);
    on.pass(2);
    on.pod("high", 5, 100);
    on.pass(3);
  }

  private static void victimsOnTwoNodes(SchedulingStage on) {
    on.node("a", 4);
    on.pod("v50", 3, 50);
    on.pass(2);
    on.node("b", 4);
    on.pod("v10", 3, 10);
    on.pass(2);
  }

  /** Three pods of different priorities, one after the other. */
  private static void victims(SchedulingStage on) {
    for (int priority : new int[] {30, 10, 20}) {
      on.pod("v" + priority, 3, priority);
      on.pass(2);
    }
  }
}
