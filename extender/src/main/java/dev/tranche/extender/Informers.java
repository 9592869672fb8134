package dev.tranche.extender;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.state.SchedulingState;
import dev.tranche.extender.watch.BudgetReader;
import dev.tranche.extender.watch.NodeReader;
import dev.tranche.extender.watch.PodGroupReader;
import dev.tranche.extender.watch.PodGroupReader.PodGroup;
import dev.tranche.extender.watch.PodReader;
import dev.tranche.extender.watch.Reflector;
import dev.tranche.extender.watch.Reflector.Sink;
import dev.tranche.extender.watch.Reflector.Watches;
import dev.tranche.extender.watch.Watched;
import dev.tranche.extender.watch.WatchedNode;
import dev.tranche.extender.watch.WatchedPod;
import java.util.List;

/**
 * Watches the cluster, and passes on what the watches show, on their threads. The loop gets changes
 * in order. The watches start one after the other: a pod on an unknown node holds nothing, and only
 * preemption needs budgets.
 */
final class Informers implements AutoCloseable {
  private final SchedulingCore core;
  private final SchedulingState state;
  private final Controllers controllers;
  private final Reflector<?> nodes;
  private final Reflector<?> pods;
  private final Reflector<?> budgetReflector;
  private final Reflector<?> podGroups;

  Informers(
      Watches watches,
      ExtenderConfig config,
      SchedulingCore core,
      SchedulingState state,
      Controllers controllers) {
    this.core = core;
    this.state = state;
    this.controllers = controllers;
    this.pods =
        new Reflector<>(
            watches,
            // Policy packed needs the CPU and memory of all pods.
            PodReader.kind(config.resources(), config.policy() == Policy.PACKED),
            new Sink<>(this::podSeen, this::podGone, this::podsListed));
    this.nodes =
        new Reflector<>(
            watches,
            NodeReader.kind(config.resources()),
            new Sink<>(this::nodeSeen, this::nodeGone, pods::start));
    this.budgetReflector =
        new Reflector<>(
            watches,
            BudgetReader.kind(),
            new Sink<>(
                budget -> run(() -> core.budgets.put(budget.read())),
                (uid, key) -> run(() -> core.budgets.gone(key)),
                () -> run(core.budgets::listed)));
    this.podGroups =
        new Reflector<>(
            watches, PodGroupReader.kind(), new Sink<>(this::groupSeen, this::groupGone, () -> {}));
  }

  void start() {
    nodes.start();
  }

  /** A list is complete on the loop after its objects, since both are queued in order. */
  private void run(Runnable task) {
    controllers.loop().run(task);
  }

  private void podsListed() {
    run(
        () -> {
          state.readiness.synced();
          state.apply(new Event.Synced());
        });
    budgetReflector.start();
    podGroups.start();
  }

  private void nodeSeen(WatchedNode node) {
    core.packing.hosts.node(node.key(), node.host());
    core.traits.put(node.key(), node.traits());
    run(
        () -> {
          state.apply(new Event.NodeSeen(node.facts()));
          controllers.tell(each -> each.nodeSeen(node));
        });
  }

  private void nodeGone(String uid, String name) {
    core.packing.hosts.nodeGone(name);
    core.traits.gone(name);
    run(
        () -> {
          state.apply(new Event.NodeGone(name));
          controllers.tell(each -> each.nodeGone(name));
        });
  }

  /** Pods that request none of our resources take CPU and memory, for policy {@code packed}. */
  private void podSeen(WatchedPod pod) {
    controllers.tell(each -> each.podSeen(pod));
    if (pod.tracked()) {
      core.packing.podSeen(pod.uid(), pod.node(), pod.ended(), pod.host());
    }
    pod.facts()
        .filter(PodFacts::isCounted)
        .ifPresent(facts -> run(() -> gpuPodSeen(facts, pod.group())));
  }

  private void gpuPodSeen(PodFacts facts, String group) {
    state.apply(new Event.PodSeen(facts));
    if (facts.ended()) {
      core.gangs.podEnded(facts.uid());
    } else if (!group.isEmpty() && facts.node() != null) {
      core.gangs.bound(group, facts.uid());
    }
  }

  private void podGone(String uid, String key) {
    controllers.tell(each -> each.podGone(uid));
    core.packing.hosts.podGone(uid);
    run(
        () -> {
          core.gangs.podEnded(uid);
          state.apply(new Event.PodGone(uid, key));
        });
  }

  /** What kube-scheduler refuses by itself, it says here only. */
  private void groupSeen(Watched<PodGroup> group) {
    run(
        () ->
            release(
                core.gangs.groupSeen(
                    group.key(), group.read().minimum(), group.read().refusal(), core.nowMs())));
  }

  private void groupGone(String uid, String key) {
    run(() -> core.gangs.groupGone(key));
  }

  /** On the loop: releases what gangs hold for too long. */
  void everySecond() {
    release(core.gangs.overdue(core.nowMs()));
  }

  private void release(List<String> uids) {
    uids.forEach(uid -> state.apply(new Event.Release(uid)));
  }

  @Override
  public void close() {
    nodes.close();
    pods.close();
    budgetReflector.close();
    podGroups.close();
  }
}
