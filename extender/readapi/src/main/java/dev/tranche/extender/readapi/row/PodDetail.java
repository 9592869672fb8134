package dev.tranche.extender.readapi.row;

import dev.tranche.api.Printable;
import dev.tranche.extender.explain.SchedulerAdvice;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A pod, why it is where it is, and kube-scheduler's message about it. */
public record PodDetail(
    String namespace,
    String name,
    String uid,
    String resource,
    Requested requested,
    PodState state,
    Map<String, String> annotations,
    @Nullable String node,
    @Nullable Decision decision,
    @Nullable Stage stage,
    @Nullable List<GpuShare> gpus,
    @Nullable Amount granted,
    @Nullable Waiting waiting,
    Pod.@Nullable Used used,
    @Nullable KubeScheduler kubeScheduler) {
  /** kube-scheduler's own message about a waiting pod. */
  public record KubeScheduler(String message, List<String> whatToDo) {}

  static PodDetail of(
      PodFacts pod, Optional<Hold> hold, @Nullable Decision decision, @Nullable Waiting waiting) {
    return new PodDetail(
        pod.namespace(),
        pod.name(),
        pod.uid(),
        pod.resource(),
        Requested.of(pod),
        PodState.of(pod, hold.isPresent()),
        Collections.unmodifiableMap(new TreeMap<>(pod.annotations())),
        hold.map(Hold::node).orElse(null),
        decision,
        null,
        null,
        null,
        waiting,
        null,
        null);
  }

  /**
   * Names the pods that hold the room, where a higher priority does not help.
   *
   * @param view whose pods have names
   */
  public PodDetail namingHolders(Snapshot snapshot, View view) {
    return new PodDetail(
        namespace,
        name,
        uid,
        resource,
        requested,
        state,
        annotations,
        node,
        decision == null ? null : decision.namingHolders(snapshot, view),
        stage,
        gpus,
        granted,
        waiting,
        used,
        kubeScheduler);
  }

  /**
   * @param row the pod as lists show it; empty if the newest snapshot does not have it yet
   * @param schedulerMessage kube-scheduler's own message about a waiting pod
   */
  public PodDetail with(Optional<Pod> row, Optional<String> schedulerMessage) {
    Pod pod =
        row.orElseGet(
            () ->
                new Pod(
                    namespace, name, uid, resource, requested, state, null, node, null, null, null,
                    null, null, null));
    return new PodDetail(
        namespace,
        name,
        uid,
        pod.resource(),
        pod.requested(),
        pod.state(),
        annotations,
        pod.node() == null ? node : pod.node(),
        decision,
        pod.stage(),
        pod.gpus(),
        pod.granted(),
        waiting != null && pod.state() == PodState.WAITING ? waiting : pod.waiting(),
        pod.used(),
        schedulerMessage
            .map(
                text ->
                    new KubeScheduler(Printable.message(text), SchedulerAdvice.of(text, resource)))
            .orElse(null));
  }
}
