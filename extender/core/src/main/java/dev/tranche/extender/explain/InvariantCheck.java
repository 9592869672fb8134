package dev.tranche.extender.explain;

import dev.tranche.extender.invariant.Finding;
import dev.tranche.extender.invariant.InvariantWatch;
import dev.tranche.extender.invariant.InvariantWatch.Standing;
import dev.tranche.extender.invariant.Invariants;
import dev.tranche.extender.ledger.Ledger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.stream.Gatherers;

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
  private final LongSupplier clockMs;
  private final InvariantWatch watch = new InvariantWatch();
  private Optional<Round> latest = Optional.empty();

  /** What is left of the round that is running. */
  private final Deque<Runnable> steps = new ArrayDeque<>();

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
    public long broken() {
      return findings.stream().filter(Standing::broken).count() + leftOut;
    }
  }

  public InvariantCheck(Ledger ledger, LongSupplier clockMs) {
    this.ledger = ledger;
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
    } else if (steps.isEmpty()) {
      end();
    } else {
      steps.remove().run();
    }
    return running;
  }

  private void begin() {
    running = true;
    steps.clear();
    nodeCount = ledger.nodes().size();
    podCount = ledger.pods().size();
    ledger.nodes().stream()
        .gather(Gatherers.windowFixed(NODES_AT_ONCE))
        .forEach(some -> steps.add(() -> some.forEach(this::judge)));
    ledger.pods().stream()
        .gather(Gatherers.windowFixed(PODS_AT_ONCE))
        .forEach(some -> steps.add(() -> add(Invariants.all(ledger.withoutHold(some)))));
    found.clear();
    gpuCount = 0;
    leftOut = 0;
  }

  private void judge(String name) {
    gpuCount += ledger.gpus(name).size();
    add(Invariants.all(ledger.observe(name)));
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
