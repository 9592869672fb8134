package dev.tranche.extender;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.preempt.BudgetStore;
import dev.tranche.extender.selection.NodeTraits;
import dev.tranche.extender.snapshot.PackedPolicy;
import dev.tranche.extender.state.Loop;
import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.extender.state.StateWriter;
import dev.tranche.extender.watch.BudgetReader;
import dev.tranche.extender.watch.NodeReader;
import dev.tranche.extender.watch.PodReader;
import dev.tranche.extender.watch.Reflector;
import dev.tranche.extender.watch.WatchedBudget;
import dev.tranche.extender.watch.WatchedNode;
import dev.tranche.extender.watch.WatchedPod;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;

/** Watches pods, nodes and disruption budgets, and tells the loop of each change. */
final class Informers implements AutoCloseable {
  private final Loop loop;
  private final ReadinessGate readiness;
  private final StateWriter state;
  private final PackedPolicy packing;
  private final Controllers controllers;
  private final NodeTraits.Table traits;

  /** What has not been shown yet; on the loop. */
  private final Set<String> unlisted = new HashSet<>(Set.of("nodes", "pods"));

  private final List<Reflector<?>> reflectors;

  /** What preemption needs comes last: nothing else waits for it. */
  private final Reflector<?> budgets;

  /**
   * @param packs whether the CPU and memory of all pods are asked about
   */
  Informers(
      KubernetesClient client,
      List<String> resources,
      boolean packs,
      Loop loop,
      ReadinessGate readiness,
      StateWriter state,
      BudgetStore budgetStore,
      PackedPolicy packing,
      Controllers controllers,
      ExtenderMetrics metrics,
      LongSupplier clockMs,
      NodeTraits.Table traits) {
    this.loop = loop;
    this.readiness = readiness;
    this.state = state;
    this.packing = packing;
    this.controllers = controllers;
    this.traits = traits;
    this.reflectors =
        List.of(
            new Reflector<>(
                client,
                NodeReader.kind(resources),
                new Reflector.Sink<>(
                    this::nodeSeen, (uid, name) -> nodeGone(name), () -> listed("nodes")),
                metrics,
                clockMs),
            new Reflector<>(
                client,
                PodReader.kind(resources, packs),
                new Reflector.Sink<>(this::podSeen, this::podGone, () -> listed("pods")),
                metrics,
                clockMs));
    this.budgets =
        new Reflector<>(
            client,
            BudgetReader.kind(),
            new Reflector.Sink<>(
                (WatchedBudget shown) -> loop.run(() -> budgetStore.seen(shown.budget())),
                (uid, key) -> loop.run(() -> budgetStore.gone(key)),
                () -> loop.run(budgetStore::listed)),
            metrics,
            clockMs);
  }

  /** Returns at once; the loop is told when pods and nodes have been shown once. */
  public void start() {
    reflectors.forEach(Reflector::start);
  }

  /** Told behind the objects of the list, on the same way to the loop. */
  private void listed(String what) {
    loop.run(
        () -> {
          if (unlisted.remove(what)) {
            readiness.read(what);
            if (unlisted.isEmpty()) {
              readiness.synced();
              state.apply(new Event.Synced());
              budgets.start();
            }
          }
        });
  }

  /** Others' pods take CPU and memory, which only packing asks about. */
  private void podSeen(WatchedPod pod) {
    controllers.podSeen(pod);
    if (pod.matters()) {
      packing.podSeen(pod.uid(), pod.node(), pod.ended(), pod.host());
    }
    pod.facts().ifPresent(facts -> loop.run(() -> state.apply(new Event.PodSeen(facts))));
  }

  private void podGone(String uid, String key) {
    controllers.podGone(uid);
    packing.podGone(uid);
    loop.run(() -> state.apply(new Event.PodGone(uid, key)));
  }

  private void nodeSeen(WatchedNode node) {
    packing.nodeSeen(node.key(), node.host());
    traits.seen(node.key(), node.traits());
    loop.run(
        () -> {
          state.apply(new Event.NodeSeen(node.facts()));
          controllers.nodeSeen(node);
        });
  }

  private void nodeGone(String name) {
    packing.nodeGone(name);
    traits.gone(name);
    loop.run(
        () -> {
          state.apply(new Event.NodeGone(name));
          controllers.nodeGone(name);
        });
  }

  @Override
  public void close() {
    reflectors.forEach(Reflector::close);
    budgets.close();
  }
}
