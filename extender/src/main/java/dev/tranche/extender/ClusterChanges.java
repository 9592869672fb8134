package dev.tranche.extender;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.state.SchedulingState;
import dev.tranche.extender.watch.PodGroupReader.PodGroup;
import dev.tranche.extender.watch.Watched;
import dev.tranche.extender.watch.WatchedNode;
import dev.tranche.extender.watch.WatchedPod;
import dev.tranche.process.loop.Loop;
import java.util.List;

/**
 * Passes on what the watches show. Called on the watches' threads; the loop gets changes in order.
 */
record ClusterChanges(
    SchedulingCore core, SchedulingState state, Controllers controllers, Loop loop) {
  void nodeSeen(WatchedNode node) {
    core.packing.hosts.node(node.key(), node.host());
    core.traits.put(node.key(), node.traits());
    loop.run(
        () -> {
          state.writer.apply(new Event.NodeSeen(node.facts()));
          controllers.tell(each -> each.nodeSeen(node));
        });
  }

  void nodeGone(String uid, String name) {
    core.packing.hosts.nodeGone(name);
    core.traits.gone(name);
    loop.run(
        () -> {
          state.writer.apply(new Event.NodeGone(name));
          controllers.tell(each -> each.nodeGone(name));
        });
  }

  /** Pods that request none of our resources take CPU and memory, for policy {@code packed}. */
  void podSeen(WatchedPod pod) {
    controllers.tell(each -> each.podSeen(pod));
    if (pod.tracked()) {
      core.packing.podSeen(pod.uid(), pod.node(), pod.ended(), pod.host());
    }
    pod.facts()
        .filter(PodFacts::isCounted)
        .ifPresent(facts -> loop.run(() -> gpuPodSeen(facts, pod.group())));
  }

  private void gpuPodSeen(PodFacts facts, String group) {
    state.writer.apply(new Event.PodSeen(facts));
    if (facts.ended()) {
      core.gangs.podEnded(facts.uid());
    } else if (!group.isEmpty() && facts.node() != null) {
      core.gangs.bound(group, facts.uid());
    }
  }

  void podGone(String uid, String key) {
    controllers.tell(each -> each.podGone(uid));
    core.packing.hosts.podGone(uid);
    loop.run(
        () -> {
          core.gangs.podEnded(uid);
          state.writer.apply(new Event.PodGone(uid, key));
        });
  }

  /** What kube-scheduler refuses by itself, it says here only. */
  void groupSeen(Watched<PodGroup> group) {
    loop.run(
        () ->
            release(
                core.gangs.groupSeen(
                    group.key(), group.read().minimum(), group.read().refusal(), core.nowMs())));
  }

  void groupGone(String uid, String key) {
    loop.run(() -> core.gangs.groupGone(key));
  }

  /** On the loop: releases what gangs hold for too long. */
  void everySecond() {
    release(core.gangs.overdue(core.nowMs()));
  }

  private void release(List<String> uids) {
    uids.forEach(uid -> state.writer.apply(new Event.Release(uid)));
  }
}
