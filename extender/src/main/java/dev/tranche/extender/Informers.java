package dev.tranche.extender;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.gang.Gangs;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.selection.NodeTraits;
import dev.tranche.extender.snapshot.PackedPolicy;
import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.extender.state.SchedulingState;
import dev.tranche.extender.state.StateWriter;
import dev.tranche.extender.watch.BudgetReader;
import dev.tranche.extender.watch.NodeReader;
import dev.tranche.extender.watch.PodGroupReader;
import dev.tranche.extender.watch.PodReader;
import dev.tranche.extender.watch.Reflector;
import dev.tranche.extender.watch.WatchedBudget;
import dev.tranche.extender.watch.WatchedNode;
import dev.tranche.extender.watch.WatchedPod;
import dev.tranche.extender.watch.WatchedPodGroup;
import dev.tranche.process.loop.Loop;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;

/** Watches pods, nodes and PodDisruptionBudgets, and passes each change to the loop. */
final class Informers implements AutoCloseable {
  private final Loop loop;
  private final ReadinessGate readiness;
  private final StateWriter state;
  private final PackedPolicy packing;
  private final Controllers controllers;
  private final Gangs gangs;
  private final NodeTraits.Table traits;

  /** The kinds that have not been listed yet; confined to the loop. */
  private final Set<String> notYetListed = new HashSet<>(Set.of("nodes", "pods"));

  private final Reflector<?> nodes;

  /** Started once the nodes are known: a pod on an unknown node holds nothing. */
  private final Reflector<?> pods;

  /** Started last: only preemption needs it. */
  private final Reflector<?> budgetReflector;

  private final LongSupplier clockMs;
  private final OptionalReflector podGroups;

  Informers(
      KubernetesClient client,
      ExtenderConfig config,
      Loop loop,
      SchedulingCore core,
      SchedulingState shared,
      Controllers controllers,
      ExtenderMetrics metrics,
      NodeTraits.Table traits) {
    this.loop = loop;
    this.readiness = shared.readiness;
    this.state = shared.writer;
    this.packing = core.packing;
    this.controllers = controllers;
    this.gangs = core.gangs;
    this.traits = traits;
    this.clockMs = core.clockMs;
    this.nodes =
        new Reflector<>(
            client,
            NodeReader.kind(config.resources()),
            new Reflector.Sink<>(
                this::nodeSeen, (uid, name) -> nodeGone(name), () -> listed("nodes")),
            metrics,
            clockMs);
    this.pods =
        new Reflector<>(
            client,
            // Policy packed needs the CPU and memory of all pods.
            PodReader.kind(config.resources(), config.policy() == Policy.PACKED),
            new Reflector.Sink<>(this::podSeen, this::podGone, () -> listed("pods")),
            metrics,
            clockMs);
    var groups =
        new Reflector.Sink<>(
            (WatchedPodGroup group) -> loop.run(() -> groupSeen(group)),
            (uid, key) -> loop.run(() -> gangs.groupGone(key)),
            () -> {});
    this.podGroups =
        new OptionalReflector(
            client,
            PodGroupReader.API,
            "podgroups",
            () -> new Reflector<>(client, PodGroupReader.kind(), groups, metrics, clockMs),
            OptionalReflector.CHECK_AGAIN_MS);
    this.budgetReflector =
        new Reflector<>(
            client,
            BudgetReader.kind(),
            new Reflector.Sink<>(
                (WatchedBudget budget) -> loop.run(() -> core.budgets.put(budget.budget())),
                (uid, key) -> loop.run(() -> core.budgets.gone(key)),
                () -> loop.run(core.budgets::listed)),
            metrics,
            clockMs);
  }

  /**
   * Starts the watches and returns at once. The loop is notified when pods and nodes have been
   * listed.
   */
  public void start() {
    nodes.start();
  }

  /**
   * Marks a kind as listed, on the loop after the objects of the list, since both are queued in
   * order.
   */
  private void listed(String what) {
    loop.run(
        () -> {
          if (notYetListed.remove(what)) {
            readiness.listed(what);
            if (what.equals("nodes")) {
              pods.start();
            } else {
              readiness.synced();
              state.apply(new Event.Synced());
              budgetReflector.start();
              podGroups.start();
            }
          }
        });
  }

  /**
   * Passes on a pod. Pods that request none of our resources take CPU and memory, which only policy
   * {@code packed} needs.
   */
  private void podSeen(WatchedPod pod) {
    controllers.podSeen(pod);
    if (pod.tracked()) {
      packing.podSeen(pod.uid(), pod.node(), pod.ended(), pod.host());
    }
    pod.facts()
        .filter(PodFacts::isCounted)
        .ifPresent(facts -> loop.run(() -> gpuPodSeen(facts, pod.group())));
  }

  private void gpuPodSeen(PodFacts facts, String group) {
    state.apply(new Event.PodSeen(facts));
    if (facts.ended()) {
      gangs.podEnded(facts.uid());
    } else if (!group.isEmpty() && facts.node() != null) {
      gangs.bound(group, facts.uid());
    }
  }

  /** What kube-scheduler refuses by itself, it says here only. */
  private void groupSeen(WatchedPodGroup group) {
    release(gangs.groupSeen(group.key(), group.minimum(), group.refusal(), clockMs.getAsLong()));
  }

  /** On the loop. */
  void everySecond() {
    release(gangs.overdue(clockMs.getAsLong()));
  }

  private void release(List<String> uids) {
    uids.forEach(uid -> state.apply(new Event.Release(uid)));
  }

  private void podGone(String uid, String key) {
    controllers.podGone(uid);
    packing.podGone(uid);
    loop.run(
        () -> {
          gangs.podEnded(uid);
          state.apply(new Event.PodGone(uid, key));
        });
  }

  private void nodeSeen(WatchedNode node) {
    packing.nodeSeen(node.key(), node.host());
    traits.put(node.key(), node.traits());
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
    nodes.close();
    pods.close();
    budgetReflector.close();
    podGroups.close();
  }
}
