package dev.tranche.extender.explain;

import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.RequestsByReplicas;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.score.IdleGpus;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.Scores;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.selection.Exclusion;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.snapshot.ClusterView;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.NodeSnapshot;
import dev.tranche.extender.snapshot.Offer;
import dev.tranche.extender.snapshot.PackedPolicy;
import dev.tranche.extender.snapshot.Turn;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntPredicate;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Computes what filter and prioritize would decide on a pod now, and on further copies of it.
 * Nothing is held or remembered. The loop supplies snapshots, and a worker evaluates the nodes.
 * Under policy {@code packed} the loop also makes the choice, once per question.
 */
public final class WhatIf {
  /** The most pods of one question, which are placed one after the other. */
  public static final int COUNT_MAX = 1_000;

  /** The time limit; after it, the answer contains the pods placed so far. */
  public static final long PLACE_WITHIN_MS = 5_000;

  private final Ledger ledger;
  private final NodeEvaluator evaluator;
  private final PackedPolicy packing;
  private final Rules filter;
  private final LongSupplier clockMs;

  public WhatIf(
      Ledger ledger,
      NodeEvaluator evaluator,
      PackedPolicy packing,
      Rules filter,
      LongSupplier clockMs) {
    this.ledger = ledger;
    this.evaluator = evaluator;
    this.packing = packing;
    this.filter = filter;
    this.clockMs = clockMs;
  }

  /**
   * @param hasNodePreferences the pod has soft preferences of its own among the nodes
   * @param host what the pod requests beside GPUs
   * @param nodes which nodes the pod itself excludes
   */
  public record Question(
      PodFacts pod, boolean hasNodePreferences, HostRequest host, NodeFilter nodes, int count) {}

  /** The rules by which filter answers, beside the fit of each node. Called on the loop. */
  public interface Rules {
    /** Returns how filter would choose among the nodes that fit; changes nothing. */
    Offer offer(Policy policy);

    /** Returns what filter would wait for before it refuses a pod on these nodes. */
    Optional<String> awaiting(List<NodeFit> refused);

    /** Returns why filter would decide nothing because of this node; changes nothing. */
    Optional<String> undecided(PodFacts pod, NodeFit refused);
  }

  /** Runs a question on the loop and waits for the answer. */
  public interface OnLoop {
    <T> T call(Supplier<T> question);
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
   * @param undecided why kube-scheduler would be asked to retry although all nodes are refused
   * @param late the time limit was reached, and more pods may fit
   */
  public record Answer(
      Policy policy,
      List<Place> places,
      List<NodeFit> fitting,
      List<NodeFit> refused,
      Map<Exclusion, Integer> excluded,
      Optional<String> undecided,
      boolean late) {}

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
    private final Map<Exclusion, Integer> excluded = new EnumMap<>(Exclusion.class);
    private final Map<String, List<Hold>> hypotheticalHolds = new HashMap<>();
    private final List<NodeSnapshot> nodes = new ArrayList<>();
    private final List<NodeFit> fits = new ArrayList<>();
    private Policy policy;
    private Offer offer;

    Run(Question question, OnLoop loop) {
      this.question = question;
      this.pod = question.pod();
      this.requests = new RequestsByReplicas(pod);
      this.loop = loop;
      for (NodeSnapshot node : snapshots()) {
        question
            .nodes()
            .excludes(node.node())
            .ifPresentOrElse(why -> excluded.merge(why, 1, Integer::sum), () -> nodes.add(node));
      }
      policy = evaluator.policyOf(pod, false);
      nodes.forEach(node -> fits.add(fit(node)));
      offer = loop.call(() -> filter.offer(policy));
    }

    private List<NodeSnapshot> snapshots() {
      List<String> names = loop.call(() -> List.copyOf(ledger.nodes()));
      var snapshots = new ArrayList<NodeSnapshot>(names.size());
      for (int next = 0; next < names.size(); ) {
        int from = next;
        next = loop.call(() -> evaluator.addSnapshots(pod, names, from, snapshots));
      }
      return snapshots;
    }

    /**
     * Does the work of each index on the loop, in several turns, so that nobody waits for the
     * whole.
     *
     * @param work returns false to end
     */
    private void inTurns(int count, IntPredicate work) {
      int next = 0;
      while (next < count) {
        int from = next;
        next = loop.call(() -> turn(from, count, work));
      }
    }

    private int turn(int from, int count, IntPredicate work) {
      long endMs = clockMs.getAsLong() + Turn.MS_MAX;
      int at = from;
      while (at < count && (at == from || clockMs.getAsLong() < endMs)) {
        if (!work.test(at++)) {
          return count;
        }
      }
      return at;
    }

    private NodeFit fit(NodeSnapshot node) {
      GpuRequest request = requests.of(node.replicas());
      return evaluator.evaluate(node, request, policy);
    }

    Answer answer() {
      var places = new ArrayList<Place>();
      reevaluatePolicy();
      Policy first = policy;
      List<NodeFit> fitting = fitting();
      List<NodeFit> refused = refused();
      boolean late = false;
      while (places.size() < question.count() && !late) {
        Optional<Place> place = next();
        if (place.isEmpty()) {
          refused = refused();
          break;
        }
        places.add(place.get());
        if (places.size() < question.count()) {
          applyPlacement(place.get(), places.size());
          reevaluatePolicy();
          late = clockMs.getAsLong() > untilMs;
        }
      }
      Optional<String> undecided = places.isEmpty() ? undecided(refused) : Optional.empty();
      return new Answer(first, places, fitting, refused, excluded, undecided, late);
    }

    /**
     * Evaluates the nodes again if idle GPUs have become scarce under policy {@code load}, as
     * filter does.
     */
    private void reevaluatePolicy() {
      int gpus = fits.stream().mapToInt(NodeFit::measuredGpus).sum();
      int idle = fits.stream().mapToInt(NodeFit::idleGpus).sum();
      Policy now = evaluator.policyOf(pod, new IdleGpus(gpus, idle).scarce());
      if (now != policy) {
        policy = now;
        for (int i = 0; i < fits.size(); i++) {
          fits.set(i, fit(nodes.get(i)));
        }
      }
    }

    /** Returns why filter would decide nothing on a pod that no node fits. */
    private Optional<String> undecided(List<NodeFit> everywhere) {
      Optional<String> awaiting = loop.call(() -> filter.awaiting(everywhere));
      if (awaiting.isPresent()) {
        return awaiting;
      }
      var found = new AtomicReference<Optional<String>>(Optional.empty());
      inTurns(
          everywhere.size(),
          i -> {
            found.set(
                clockMs.getAsLong() > untilMs
                    ? Optional.of(NodeEvaluator.LATE)
                    : filter.undecided(pod, everywhere.get(i)));
            return found.get().isEmpty();
          });
      return found.get();
    }

    private List<NodeFit> fitting() {
      return fits.stream().filter(NodeFit::fits).toList();
    }

    private List<NodeFit> refused() {
      return fits.stream().filter(fit -> !fit.fits()).toList();
    }

    private Optional<Place> next() {
      List<NodeFit> fitting = fitting();
      if (fitting.isEmpty()) {
        return Optional.empty();
      }
      if (policy == Policy.PACKED) {
        return loop.call(() -> packing.preview(question.host(), fitting))
            .map(w -> new Place(w.evaluation(), w.placement(), Scores.PACKED_WINNER));
      }
      offer = new Offer(policy, offer.offeredMax(), offer.rotation());
      List<NodeFit> offered = question.hasNodePreferences() ? fitting : offer.of(fitting);
      if (!question.hasNodePreferences()) {
        offer = new Offer(policy, offer.offeredMax(), offer.rotationAfter(fitting));
      }
      int[] scores = offered.stream().mapToInt(NodeFit::headroom).toArray();
      NodeFit best = offered.get(Scores.winner(scores));
      return best.placement().map(placement -> new Place(best, placement, best.headroom()));
    }

    /** Evaluates the node again as if the pod were placed on it. */
    private void applyPlacement(Place place, int number) {
      String node = place.fit().node();
      int index = fits.indexOf(place.fit());
      NodeSnapshot before = nodes.get(index);
      PodFacts one = numbered(number);
      ClusterView.NodeGpus nodeGpus =
          loop.call(
              () -> {
                List<Hold> held =
                    hypotheticalHolds.computeIfAbsent(node, none -> new ArrayList<>());
                ledger
                    .hypotheticalHold(one, node, place.placement(), clockMs.getAsLong())
                    .ifPresent(held::add);
                return evaluator.nodeGpusAfter(pod, node, held);
              });
      nodes.set(index, new NodeSnapshot(node, before.replicas(), nodeGpus));
      fits.set(index, fit(nodes.get(index)));
    }

    private PodFacts numbered(int number) {
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
  }
}
