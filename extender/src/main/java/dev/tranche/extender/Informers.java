package dev.tranche.extender;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.preempt.Budget;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.watch.BudgetReader;
import dev.tranche.extender.watch.NodeReader;
import dev.tranche.extender.watch.PodGroupReader;
import dev.tranche.extender.watch.PodReader;
import dev.tranche.extender.watch.Reflector;
import dev.tranche.extender.watch.Watched;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.function.LongSupplier;

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

  Informers(
      KubernetesClient client,
      ExtenderConfig config,
      ClusterChanges changes,
      ExtenderMetrics metrics) {
    LongSupplier clockMs = changes.core().clockMs;
    this.changes = changes;
    this.nodes =
        new Reflector<>(
            client,
            NodeReader.kind(config.resources()),
            new Reflector.Sink<>(changes::nodeSeen, changes::nodeGone, this::nodesListed),
            metrics,
            clockMs);
    this.pods =
        new Reflector<>(
            client,
            // Policy packed needs the CPU and memory of all pods.
            PodReader.kind(config.resources(), config.policy() == Policy.PACKED),
            new Reflector.Sink<>(changes::podSeen, changes::podGone, this::podsListed),
            metrics,
            clockMs);
    this.budgetReflector =
        new Reflector<>(
            client,
            BudgetReader.kind(),
            new Reflector.Sink<Watched<Budget>>(
                budget -> run(() -> changes.core().budgets.put(budget.read())),
                (uid, key) -> run(() -> changes.core().budgets.gone(key)),
                () -> run(changes.core().budgets::listed)),
            metrics,
            clockMs);
    this.podGroups =
        new Reflector<>(
            client,
            PodGroupReader.kind(),
            new Reflector.Sink<>(changes::groupSeen, changes::groupGone, () -> {}),
            metrics,
            clockMs);
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
