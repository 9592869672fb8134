package dev.tranche.extender.state;

import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Tells whether the extender may decide, and if not, why, as a sentence. The cluster may not be
 * read yet, another replica may lead, or nodes may not have reported yet. Confined to the loop,
 * except {@link #expiry}.
 */
public final class ReadinessGate {
  /** A node that has not reported within this time counts as one that does not report. */
  public static final long FIRST_REPORTS_MS = 3_000;

  private final BooleanSupplier allReported;
  private final LongSupplier clockMs;
  private Supplier<Optional<String>> whyLeadershipMissing = Optional::empty;
  private LongSupplier term = () -> 0;
  private long syncedAtMs = -1;
  private boolean firstReportsDone;
  private volatile boolean portsOpen;

  /**
   * @param allReported whether every GPU node has reported
   */
  public ReadinessGate(BooleanSupplier allReported, LongSupplier clockMs) {
    this.allReported = allReported;
    this.clockMs = clockMs;
  }

  /** Records that all pods and nodes are listed; the first time counts. */
  public void synced() {
    syncedAtMs = syncedAtMs < 0 ? clockMs.getAsLong() : syncedAtMs;
  }

  /** Records that nodes can report; may be called on any thread. */
  public void portsOpened() {
    portsOpen = true;
  }

  /**
   * Whether labels, annotations, taints and events may be written. While no node can report, what
   * is known of the nodes is no basis for that.
   */
  public boolean mayWrite() {
    return portsOpen && notDeciding().or(this::awaitingFirstReports).isEmpty();
  }

  /**
   * Prevents decisions while leadership, or a similar condition, is missing.
   *
   * @param reason why it is missing, as a sentence; empty if it is not
   * @param number a number that changes each time that leadership is won; both suppliers are called
   *     on any thread
   */
  public void closeWhile(Supplier<Optional<String>> reason, LongSupplier number) {
    whyLeadershipMissing = reason;
    term = number;
  }

  /** Returns whether only another replica may decide, however much this one knows. */
  public boolean leadershipMissing() {
    return whyLeadershipMissing.get().isPresent();
  }

  /** Returns what keeps this replica from deciding; empty if nothing does. */
  public Optional<String> notDeciding() {
    return notReady().or(whyLeadershipMissing);
  }

  /** Returns what has not been read yet; a follower reads everything and decides nothing. */
  public Optional<String> notReady() {
    return syncedAtMs < 0
        ? Optional.of("the extender has not read the cluster's pods and nodes yet")
        : Optional.empty();
  }

  /**
   * Returns a sentence while nodes may still send their first reports; empty once all have had
   * their time. Meanwhile, nodes that have reported take pods, but no pod is rejected or evicted
   * because of the others.
   */
  public Optional<String> awaitingFirstReports() {
    // Once is enough: a node that stops reporting later is refused by itself.
    boolean listed = syncedAtMs >= 0;
    firstReportsDone =
        firstReportsDone
            || (listed
                && (clockMs.getAsLong() - syncedAtMs >= FIRST_REPORTS_MS
                    || allReported.getAsBoolean()));
    return firstReportsDone
        ? Optional.empty()
        : Optional.of("the extender waits up to 3 s for the GPU nodes' first reports");
  }

  /**
   * Returns a check for any thread: it says why a decision made now must no longer be carried out.
   *
   * @param withinMs how long the decision may wait at most
   */
  public Supplier<Optional<String>> expiry(long withinMs) {
    long decidedIn = term.getAsLong();
    long untilMs = clockMs.getAsLong() + withinMs;
    return () -> {
      Optional<String> reason = whyLeadershipMissing.get();
      if (reason.isPresent()) {
        return reason;
      }
      if (term.getAsLong() != decidedIn) {
        return Optional.of("another replica may have decided meanwhile; the pod will be retried");
      }
      return clockMs.getAsLong() < untilMs
          ? Optional.empty()
          : Optional.of("it was queued for %d ms; the pod will be retried".formatted(withinMs));
    };
  }
}
