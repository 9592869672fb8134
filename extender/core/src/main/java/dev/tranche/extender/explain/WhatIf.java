package dev.tranche.extender.explain;

import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.RequestsByReplicas;
import dev.tranche.extender.ledger.SchedulerVerdict;
import dev.tranche.extender.ledger.SchedulerVerdict.Blocker;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.IdleGpus;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.Scores;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.selection.Exclusion;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.snapshot.ClusterView.NodeGpus;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.NodeSnapshot;
import dev.tranche.extender.snapshot.Offer;
import dev.tranche.extender.snapshot.PackedPolicy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Evaluates the nodes for a pod that does not exist, as filter does, and for further copies of it.
 * Nothing is held or remembered. A worker evaluates; the loop is asked only for what changes from
 * copy to copy.
 *
 * @param offeredMax how many nodes filter offers
 */
public record WhatIf(
    Ledger ledger,
    NodeEvaluator evaluator,
    PackedPolicy packing,
    int offeredMax,
    LongSupplier clockMs) {
  /** The most pods of one question, which are placed one after the other. */
  public static final int COUNT_MAX = 1_000;

  /** The time limit; after it, the answer contains the pods placed so far. */
  public static final long PLACE_WITHIN_MS = 5_000;

  /**
   * @param host what the pod requests beside GPUs
   * @param filter which nodes the pod itself excludes
   * @param nodes all nodes, as they are for the pod
   */
  public record Question(
      PodFacts pod, HostRequest host, NodeFilter filter, List<NodeSnapshot> nodes, int count) {}

  /** Runs something on the loop, and waits for its result. */
  public interface OnLoop {
    <T> T call(Supplier<T> work);
  }

  /**
   * @param score among the nodes that were offered
   */
  public record Place(NodeFit fit, Placement placement, int score) {}

  /**
   * @param places of the pods in their order; fewer than requested if no more fit
   * @param fitting nodes that fit the first pod
   * @param refused nodes that do not fit the pod that wasn't placed, or the first pod if all were
   *     placed
   * @param late the time limit was reached, and more pods may fit
   * @param nodes for the first pod
   * @param waits why the pod would wait; empty if it fits
   */
  public record Answer(
      Policy policy,
      List<Place> places,
      List<NodeFit> fitting,
      Refusals refused,
      NodesForPod nodes,
      boolean late,
      Optional<WaitCause> waits) {}

  /**
   * Whether the pod's policy is {@code packed}. Only one such pod can be predicted, since the CPU
   * and memory that remain after it are unknown.
   */
  public boolean isPacked(PodFacts pod) {
    return evaluator.policyOf(pod, false) == Policy.PACKED;
  }

  /** Answers the question; runs on a worker. */
  public Answer answer(Question question, OnLoop loop) {
    return new Run(question, loop).answer();
  }

  /** The state of one question, confined to one thread. */
  private final class Run {
    private final Question question;
    private final PodFacts pod;
    private final OnLoop loop;
    private final long untilMs = clockMs.getAsLong() + PLACE_WITHIN_MS;
    private final RequestsByReplicas requests;
    private final NodesForPod found;
    private final Map<String, NodeSnapshot> nodes = new LinkedHashMap<>();
    private final Map<String, NodeFit> fits = new LinkedHashMap<>();
    private final Map<String, List<Hold>> assumed = new HashMap<>();
    private Policy policy;

    Run(Question question, OnLoop loop) {
      this.question = question;
      this.pod = question.pod();
      this.requests = new RequestsByReplicas(pod);
      this.loop = loop;
      this.policy = evaluator.policyOf(pod, false);
      this.found = NodesForPod.of(evaluator, pod, policy, question.nodes(), question.filter());
      found.usable().forEach(node -> nodes.put(node.node(), node));
      found.fits().forEach(fit -> fits.put(fit.node(), fit));
    }

    private NodeFit fit(NodeSnapshot node) {
      return evaluator.evaluate(node, requests.of(node.replicas()), policy);
    }

    Answer answer() {
      spareIdleGpus();
      Policy first = policy;
      List<NodeFit> fitting = fitting();
      Refusals refused = Refusals.of(fits.values());
      var places = new ArrayList<Place>();
      boolean late = false;
      while (places.size() < question.count() && !late) {
        Optional<Place> place = choose();
        if (place.isEmpty()) {
          refused = Refusals.of(fits.values());
          break;
        }
        places.add(place.get());
        assume(place.get(), places.size());
        spareIdleGpus();
        late = places.size() < question.count() && clockMs.getAsLong() > untilMs;
      }
      Optional<WaitCause> waits = places.isEmpty() ? Optional.of(waits(refused)) : Optional.empty();
      return new Answer(first, places, fitting, refused, found, late, waits);
    }

    private List<NodeFit> fitting() {
      return fits.values().stream().filter(NodeFit::fits).toList();
    }

    /** Under policy {@code load} idle GPUs are spared once they are scarce, as filter does. */
    private void spareIdleGpus() {
      Collection<NodeFit> all = fits.values();
      int gpus = all.stream().mapToInt(NodeFit::measuredGpus).sum();
      int idle = all.stream().mapToInt(NodeFit::idleGpus).sum();
      Policy now = evaluator.policyOf(pod, new IdleGpus(gpus, idle).scarce());
      if (now != policy) {
        policy = now;
        nodes.forEach((name, node) -> fits.put(name, fit(node)));
      }
    }

    private Optional<Place> choose() {
      List<NodeFit> fitting = fitting();
      if (fitting.isEmpty()) {
        return Optional.empty();
      }
      if (policy == Policy.PACKED) {
        return loop.call(() -> packing.preview(question.host(), fitting))
            .map(w -> new Place(w.evaluation(), w.placement(), Scores.PACKED_WINNER));
      }
      List<NodeFit> offered = new Offer(policy, offeredMax, 0).of(fitting);
      NodeFit best = offered.get(Scores.winner(NodeFit.headrooms(offered)));
      return best.placement().map(placement -> new Place(best, placement, best.headroom()));
    }

    /** Evaluates the node again as if a copy of the pod were placed on it. */
    private void assume(Place place, int number) {
      String node = place.fit().node();
      List<Hold> held = assumed.computeIfAbsent(node, none -> new ArrayList<>());
      NodeGpus gpus =
          loop.call(
              () -> {
                ledger
                    .hypotheticalHold(copy(number), node, place.placement(), clockMs.getAsLong())
                    .ifPresent(held::add);
                return evaluator.nodeGpusAfter(pod, node, held);
              });
      NodeSnapshot before = Objects.requireNonNull(nodes.get(node));
      var after = new NodeSnapshot(node, before.replicas(), gpus);
      nodes.put(node, after);
      fits.put(node, fit(after));
    }

    private PodFacts copy(int number) {
      return new PodFacts(
          pod.uid() + "-" + number,
          pod.namespace(),
          pod.name() + "-" + number,
          null,
          false,
          false,
          pod.resource(),
          pod.requests(),
          pod.annotations());
    }

    /** Returns the cause that the pod would get, with the condition that it would have. */
    private WaitCause waits(Refusals refused) {
      var counts = new EnumMap<Blocker, Integer>(Blocker.class);
      found.excluded().forEach((why, number) -> counts.merge(blocker(why), number, Integer::sum));
      if (refused.count() > 0) {
        counts.put(Blocker.GPUS, refused.count());
      }
      Set<Reason> reasons = refused.byReason().keySet();
      boolean gated = pod.scheduler().state() == SchedulerVerdict.State.GATED;
      var verdict = new SchedulerVerdict(SchedulerVerdict.State.REFUSED, counts, reasons);
      WaitCause alone =
          WaitCauses.of(
              gated ? pod : pod.with(verdict),
              Survey.of(found.everywhere(evaluator, pod, policy)),
              Optional.of(reasons));
      return WaitCauses.ownFieldsFirst(alone, found.excludedBy());
    }

    private static Blocker blocker(Exclusion why) {
      return switch (why) {
        case NODE_NAME, NODE_SELECTOR, NODE_AFFINITY -> Blocker.AFFINITY;
        case UNSCHEDULABLE -> Blocker.CORDONED;
        case TAINTS -> Blocker.TAINTS;
      };
    }
  }
}
