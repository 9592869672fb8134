package dev.tranche.extender.explain;

import dev.tranche.extender.invariant.Finding;
import dev.tranche.extender.invariant.InvariantWatch;
import dev.tranche.extender.invariant.InvariantWatch.Standing;
import dev.tranche.extender.invariant.Invariants;
import dev.tranche.extender.invariant.ObservedCluster;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.LedgerObserver;
import dev.tranche.extender.ledger.PodFacts;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Judges the invariants by what the extender knows of a running cluster. A round takes many short
 * steps, so that verbs are answered in between. Confined to the loop.
 */
public final class InvariantCheck {
  /** The others of a round are only counted. */
  public static final int FINDINGS_MAX = 1_000;

  static final int NODES_AT_ONCE = 10;
  static final int PODS_AT_ONCE = 500;

  private final Ledger ledger;
  private final LedgerObserver observer;
  private final LongSupplier clockMs;
  private final InvariantWatch watch = new InvariantWatch();
  private Optional<Round> latest = Optional.empty();

  private final Deque<String> nodes = new ArrayDeque<>();
  private final Deque<PodFacts> pods = new ArrayDeque<>();
  private final List<Finding> found = new ArrayList<>();
  private boolean running;
  private int nodeCount;
  private int gpuCount;
  private int podCount;
  private int leftOut;

  /**
   * What a round has found.
   *
   * @param leftOut findings beyond {@link #FINDINGS_MAX}
   * @param atMs when it ended
   */
  public record Round(
      int nodes, int gpus, int pods, List<Standing> findings, int leftOut, long atMs) {
    public Round {
      findings = List.copyOf(findings);
    }

    public long broken() {
      return findings.stream().filter(Standing::broken).count() + leftOut;
    }
  }

  public InvariantCheck(Ledger ledger, LongSupplier clockMs) {
    this.ledger = ledger;
    this.observer = ledger.observer();
    this.clockMs = clockMs;
  }

  /** Returns the last round; empty before its end. */
  public Optional<Round> latest() {
    return latest;
  }

  /** Forgets everything, since the state is incomplete. */
  public void reset() {
    running = false;
    latest = Optional.empty();
    watch.reset();
  }

  /** Begins a round, or takes its next step; returns whether more are to come. */
  public boolean step() {
    if (!running) {
      begin();
    } else if (!nodes.isEmpty()) {
      for (int i = 0; i < NODES_AT_ONCE && !nodes.isEmpty(); i++) {
        ObservedCluster node = observer.node(nodes.remove());
        gpuCount += node.gpus().size();
        add(Invariants.all(node));
      }
    } else if (!pods.isEmpty()) {
      Collection<PodFacts> some = new ArrayList<>();
      while (some.size() < PODS_AT_ONCE && !pods.isEmpty()) {
        some.add(pods.remove());
      }
      add(Invariants.all(observer.withoutHold(some)));
    } else {
      end();
    }
    return running;
  }

  private void begin() {
    running = true;
    nodes.clear();
    nodes.addAll(ledger.nodes());
    nodeCount = nodes.size();
    pods.clear();
    pods.addAll(ledger.pods());
    podCount = pods.size();
    found.clear();
    gpuCount = 0;
    leftOut = 0;
  }

  private void add(List<Finding> findings) {
    int room = Math.min(findings.size(), FINDINGS_MAX - found.size());
    found.addAll(findings.subList(0, room));
    leftOut += findings.size() - room;
  }

  private void end() {
    running = false;
    long nowMs = clockMs.getAsLong();
    latest =
        Optional.of(
            new Round(nodeCount, gpuCount, podCount, watch.standing(found, nowMs), leftOut, nowMs));
    found.clear();
  }
}
