package dev.tranche.extender;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.preempt.BudgetStore;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.watch.BudgetReader;
import dev.tranche.extender.watch.NodeReader;
import dev.tranche.extender.watch.PodGroupReader;
import dev.tranche.extender.watch.PodReader;
import dev.tranche.extender.watch.Reflector;
import dev.tranche.extender.watch.Reflector.Sink;
import dev.tranche.extender.watch.Reflector.Watches;

/**
 * The watches, in the order in which they start: a pod on an unknown node holds nothing, and only
 * preemption needs budgets.
 */
final class Informers implements AutoCloseable {
  private final ClusterChanges changes;
  private final Reflector<?> nodes;
  private final Reflector<?> pods;
  private final Reflector<?> budgetReflector;
  private final Reflector<?> podGroups;

  Informers(Watches watches, ExtenderConfig config, ClusterChanges changes) {
    BudgetStore budgets = changes.core().budgets;
    this.changes = changes;
    this.nodes =
        new Reflector<>(
            watches,
            NodeReader.kind(config.resources()),
            new Sink<>(changes::nodeSeen, changes::nodeGone, this::nodesListed));
    this.pods =
        new Reflector<>(
            watches,
            // Policy packed needs the CPU and memory of all pods.
            PodReader.kind(config.resources(), config.policy() == Policy.PACKED),
            new Sink<>(changes::podSeen, changes::podGone, this::podsListed));
    this.budgetReflector =
        new Reflector<>(
            watches,
            BudgetReader.kind(),
            new Sink<>(
                budget -> run(() -> budgets.put(budget.read())),
                (uid, key) -> run(() -> budgets.gone(key)),
                () -> run(budgets::listed)));
    this.podGroups =
        new Reflector<>(
            watches,
            PodGroupReader.kind(),
            new Sink<>(changes::groupSeen, changes::groupGone, () -> {}));
  }

  void start() {
    nodes.start();
  }

  /** A list is complete on the loop after its objects, since both are queued in order. */
  private void run(Runnable task) {
    changes.loop().run(task);
  }

  private void nodesListed() {
    run(() -> changes.state().readiness.listed("nodes"));
    pods.start();
  }

  private void podsListed() {
    run(
        () -> {
          changes.state().readiness.listed("pods");
          changes.state().readiness.synced();
          changes.state().writer.apply(new Event.Synced());
        });
    budgetReflector.start();
    podGroups.start();
  }

  @Override
  public void close() {
    nodes.close();
    pods.close();
    budgetReflector.close();
    podGroups.close();
  }
}
