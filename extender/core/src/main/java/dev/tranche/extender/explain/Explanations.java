package dev.tranche.extender.explain;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.SchedulerVerdict;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.TopK;
import dev.tranche.extender.selection.PodSelection.Pin;
import dev.tranche.extender.snapshot.NodeFit;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Recent decisions and their reasons, for later questions about them. */
public final class Explanations {
  /** Fitting nodes that are kept per pod. */
  public static final int NODES_MAX = 8;

  /**
   * Fitting nodes that are kept once a pod is bound: questions are then mostly about its own node.
   */
  static final int NODES_OF_BOUND_MAX = 3;

  private static final int PODS_MAX = 2_000;

  /** As many waiting pods as the Ledger keeps. */
  static final int CAUSES_MAX = 20_000;

  /** Most pods take less. One that takes more counts as several. */
  private static final long POD_BYTES = 4 << 10;

  private final Cache<String, Trace> byKey =
      Caffeine.newBuilder()
          .maximumWeight(PODS_MAX * POD_BYTES)
          .weigher((String key, Trace trace) -> Math.max((int) POD_BYTES, trace.pod().bytes()))
          .expireAfterWrite(Duration.ofHours(2))
          // Cleaning up here costs less than waking another thread for it, three times per pod.
          .executor(Runnable::run)
          .build();

  /** Why pods wait, by uid. Pods with equal requests mostly share one object. */
  private final Cache<String, WaitCause> causes = byUid();

  /** What the gangs of refused pods lack, by the pods' uids. */
  private final Cache<String, String> gangs = byUid();

  /** What pods that wait for their nodes require of these, by the pods' uids. */
  private final Cache<String, Pin> pins = byUid();

  private final Predicate<String> gone;

  /**
   * @param gone whether the pod of a uid has been deleted a moment ago
   */
  public Explanations(Predicate<String> gone) {
    this.gone = gone;
  }

  private static <V> Cache<String, V> byUid() {
    return Caffeine.newBuilder()
        .maximumSize(CAUSES_MAX)
        .expireAfterWrite(Duration.ofMinutes(10))
        .executor(Runnable::run)
        .build();
  }

  /**
   * @param score as sent to kube-scheduler; null if prioritize was not called
   */
  public record Scored(NodeFit evaluation, @Nullable Integer score) {}

  /** Where the pod went, and the node's GPUs at that moment. */
  public record Chosen(NodeFit evaluation, Placement placement) {}

  /**
   * @param fitting some nodes that fit: after prioritize the best ones; fewer once the pod is bound
   * @param chosen null while the pod waits
   */
  public record Trace(
      PodFacts pod,
      Policy policy,
      Instant at,
      List<Scored> fitting,
      int fittingCount,
      Refusals refused,
      @Nullable Chosen chosen) {}

  public Optional<Trace> get(String key) {
    return Optional.ofNullable(byKey.getIfPresent(key));
  }

  /** kube-scheduler may still call for a pod that has been deleted. */
  private void keep(Trace trace) {
    if (!gone.test(trace.pod().uid())) {
      byKey.put(trace.pod().key(), trace);
    }
  }

  /** A pod is deleted. Another one may have its name by now. */
  public void podGone(String uid, String key) {
    byKey.asMap().computeIfPresent(key, (k, trace) -> trace.pod().uid().equals(uid) ? null : trace);
  }

  public void filtered(PodFacts pod, Policy policy, List<NodeFit> fitting, List<NodeFit> refused) {
    var kept = fitting.stream().limit(NODES_MAX).map(e -> new Scored(e, null)).toList();
    var refusals = Refusals.of(refused);
    keep(new Trace(pod, policy, Instant.now(), kept, fitting.size(), refusals, null));
    if (!fitting.isEmpty()) {
      gangs.invalidate(pod.uid());
      found(pod, WaitCauses.notBoundYet(fitting.getFirst().node()));
    }
  }

  /** Returns why a pod waits, as found out last. Safe on any thread. */
  public Optional<WaitCause> cause(String uid) {
    return Optional.ofNullable(causes.getIfPresent(uid));
  }

  /**
   * Returns for what reasons filter has refused the pod: none if some node fitted. Empty if
   * kube-scheduler has not called filter for it lately.
   */
  public Optional<Set<Reason>> decided(PodFacts pod) {
    return trace(pod)
        .map(trace -> trace.fittingCount() > 0 ? Set.of() : trace.refused().byReason().keySet());
  }

  /** Returns the last decision about this very pod. */
  public Optional<Trace> trace(PodFacts pod) {
    return get(pod.key()).filter(trace -> trace.pod().uid().equals(pod.uid()));
  }

  /**
   * Records why a pod waits. Safe on any thread.
   *
   * @return why it waits: a pod that would fit alone waits for its gang
   */
  public WaitCause found(PodFacts pod, WaitCause alone) {
    boolean ofGang = alone.reason().isOfGpus() || alone.reason() == WaitReason.NOT_BOUND_YET;
    String lacking = ofGang ? gangs.getIfPresent(pod.uid()) : null;
    WaitCause cause = lacking == null ? withPin(pod.uid(), alone) : WaitCauses.gang(lacking);
    causes.put(pod.uid(), cause);
    return cause;
  }

  private WaitCause withPin(String uid, WaitCause alone) {
    Pin pin = pins.getIfPresent(uid);
    if (pin == null) {
      return alone;
    }
    WaitCause cause = WaitCauses.ownFieldsFirst(alone, pin.excluded());
    return cause.reason().isOfNodes() ? WaitCauses.pinned(cause, pin) : cause;
  }

  /**
   * Returns whether it may help to know what a waiting pod requires of its nodes, and it is not
   * known. Where filter was called, or fewer nodes are excluded than have GPUs, some of these are
   * left.
   */
  public boolean asksForPin(PodFacts pod, WaitCause cause, int gpuNodes) {
    SchedulerVerdict verdict = pod.scheduler();
    boolean pinned =
        cause.reason().isOfNodes()
            && verdict.has(SchedulerVerdict.Blocker.AFFINITY)
            && pod.stampedReplicas().isPresent();
    boolean excluded =
        WaitCauses.isShortage(cause)
            && verdict.count(blocker -> blocker.kind == SchedulerVerdict.Kind.NODE) >= gpuNodes
            && trace(pod).isEmpty();
    return (pinned || excluded) && pins.getIfPresent(pod.uid()) == null;
  }

  /** Records what a pod requires of its nodes. */
  public void pinned(String uid, Pin pin) {
    pins.put(uid, pin);
  }

  /**
   * Records that a pod fits on no node now.
   *
   * @param gang what its gang lacks, a clause; empty if it is in none
   */
  public void rejected(PodFacts pod, List<NodeFit> refused, Optional<String> gang) {
    gang.ifPresentOrElse(clause -> gangs.put(pod.uid(), clause), () -> gangs.invalidate(pod.uid()));
    found(pod, WaitCauses.refused(pod, refused));
  }

  public void prioritized(PodFacts pod, Policy policy, List<NodeFit> evaluations, int[] scores) {
    var refused = get(pod.key()).map(Trace::refused).orElse(Refusals.NONE);
    var best =
        TopK.of(scores, NODES_MAX, 0).stream()
            .map(i -> new Scored(evaluations.get(i), scores[i]))
            .toList();
    keep(new Trace(pod, policy, Instant.now(), best, evaluations.size(), refused, null));
  }

  public void bound(PodFacts pod, Policy policy, NodeFit evaluation, Placement placement) {
    var unknown = new Trace(pod, policy, Instant.now(), List.of(), 0, Refusals.NONE, null);
    Trace before = get(pod.key()).orElse(unknown);
    var fitting = before.fitting().stream().limit(NODES_OF_BOUND_MAX).toList();
    keep(
        new Trace(
            pod,
            before.policy(),
            before.at(),
            fitting,
            before.fittingCount(),
            before.refused(),
            new Chosen(evaluation, placement)));
  }
}
