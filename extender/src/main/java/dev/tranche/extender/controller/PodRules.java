package dev.tranche.extender.controller;

import dev.tranche.api.AllowList;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.watch.WatchedPod;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** For each {@link PodMistake}: which pods have it, and what their owners are told. */
public final class PodRules {
  /** A config reaches all nodes within that time, and a node may come back with the old number. */
  static final long OUTDATED_AFTER_MS = 30_000;

  /** A node that restarts reports its GPUs again within that time. */
  static final long UNKNOWN_UUID_AFTER_MS = 60_000;

  /** Each of these pods names up to 64 GPUs. */
  static final int UUID_PODS_MAX = 500;

  private static final int NUMBERS_SHOWN_MAX = 5;
  private static final int UUIDS_SHOWN_MAX = 3;

  private PodRules() {}

  /**
   * Returns the rule for pods that did not pass the webhook. Pods of other schedulers are ignored.
   *
   * @param schedulerName the scheduler that the webhook sets, besides the cluster's default one
   */
  public static Controller unshared(String schedulerName, MistakeEvents events) {
    Set<String> schedulers = schedulers(schedulerName);
    return onSight(
        PodMistake.UNSHARED,
        pod ->
            pod.unmetShare()
                .filter(any -> schedulers.contains(pod.scheduler()))
                .map(
                    annotation ->
                        "this pod requests a share of a GPU (%s) but has none: it did not pass Tranche's webhook, so the annotation was not converted to a request. Recreate the pod; for a Deployment, use kubectl rollout restart."
                            .formatted(Printable.value(annotation))),
        events);
  }

  /** Returns the schedulers of pods that the webhook changes; none stands for the default one. */
  static Set<String> schedulers(String schedulerName) {
    return Set.copyOf(List.of("", "default-scheduler", schedulerName));
  }

  /**
   * Returns the rule for numbers of GPUs that the webhook does not convert.
   *
   * @param namespaces those that the webhook does not see; none if a number counts replicas
   *     everywhere
   * @param resource the resource whose number the webhook converts
   */
  public static Controller unconverted(
      Set<String> namespaces, String resource, MistakeEvents events) {
    return onSight(
        PodMistake.UNCONVERTED,
        seen ->
            seen.facts()
                .filter(pod -> namespaces.contains(pod.namespace()))
                .filter(pod -> pod.resource().equals(resource) && !pod.ended())
                // A pod with a stamp states itself how many replicas its number counts.
                .filter(pod -> pod.stampedReplicas().isEmpty())
                .map(
                    pod ->
                        "this pod's number of %s counts replicas, which are parts of a GPU: the webhook does not see namespace %s, so it does not convert whole GPUs to replicas. Create the pod in another namespace. Or request the replicas of whole GPUs, and write the replicas of one GPU (node label %s) into the pod's annotation %s."
                            .formatted(
                                resource,
                                pod.namespace(),
                                Names.LABEL_REPLICAS_PER_GPU,
                                Names.REPLICAS_PER_GPU)),
        events);
  }

  /** Judges each pod when it is seen, on the informer's thread. */
  private static Controller onSight(
      PodMistake mistake, Function<WatchedPod, Optional<String>> judge, MistakeEvents events) {
    return new Controller() {
      @Override
      public void podSeen(WatchedPod pod) {
        judge
            .apply(pod)
            .ifPresentOrElse(
                sentence -> events.add(mistake, pod.key(), pod.uid(), () -> sentence),
                () -> podGone(pod.uid()));
      }

      @Override
      public void podGone(String uid) {
        events.remove(mistake, uid);
      }
    };
  }

  /**
   * @param gpus of all nodes; asked only if a pod with a stamp is pending
   */
  public static PodScan.Rule outdatedShare(Supplier<Stream<GpuFacts>> gpus) {
    return new PodScan.Rule(
        PodMistake.OUTDATED_SHARE,
        OUTDATED_AFTER_MS,
        Integer.MAX_VALUE,
        pod -> pod.isPending() && pod.stampedReplicas().isPresent(),
        () -> {
          Map<String, SortedSet<Integer>> offered =
              gpus.get()
                  .collect(
                      Collectors.groupingBy(
                          GpuFacts::resource,
                          Collectors.mapping(
                              GpuFacts::replicas, Collectors.toCollection(TreeSet::new))));
          return pod -> outdatedShare(pod, offered);
        });
  }

  private static Optional<Supplier<String>> outdatedShare(
      PodFacts pod, Map<String, ? extends SortedSet<Integer>> offered) {
    SortedSet<Integer> now = offered.get(pod.resource());
    int stamped = pod.stampedReplicas().orElse(0);
    if (now == null || stamped <= 0 || now.contains(stamped)) {
      return Optional.empty();
    }
    return Optional.of(
        () ->
            "this pod's share was sized for GPUs of %d replicas, and the nodes now have GPUs of %s. Delete the pod to resize its share; its owner recreates it."
                .formatted(
                    stamped,
                    now.stream()
                        .limit(NUMBERS_SHOWN_MAX)
                        .map(Object::toString)
                        .collect(Collectors.joining(", "))));
  }

  /**
   * @param gpus of all nodes; asked only if a pod names GPUs
   */
  public static PodScan.Rule unknownUuid(Supplier<Stream<GpuFacts>> gpus) {
    return new PodScan.Rule(
        PodMistake.UNKNOWN_UUID,
        UNKNOWN_UUID_AFTER_MS,
        UUID_PODS_MAX,
        pod -> !pod.ended() && pod.annotations().containsKey(Names.GPU_UUID),
        () -> {
          Set<String> known =
              gpus.get().map(gpu -> AllowList.normalize(gpu.uuid())).collect(Collectors.toSet());
          return pod -> unknownUuid(pod, known);
        });
  }

  private static Optional<Supplier<String>> unknownUuid(PodFacts pod, Set<String> known) {
    var list = AllowList.parse(pod.annotations().get(Names.GPU_UUID));
    List<String> unknown =
        Stream.concat(list.allowed().stream(), list.denied().stream().map(uuid -> "!" + uuid))
            .filter(entry -> !known.contains(entry.startsWith("!") ? entry.substring(1) : entry))
            .sorted()
            .toList();
    return unknown.isEmpty()
        ? Optional.empty()
        : Optional.of(
            () ->
                "%s names %s, which no node reports, so that it has no effect. Correct it: kubectl tranche top gpus -o wide lists the uuids."
                    .formatted(
                        Names.GPU_UUID,
                        Printable.list(unknown, UUIDS_SHOWN_MAX, Printable::value)));
  }
}
