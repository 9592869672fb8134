package dev.tranche.extender.state;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * What keeps the extender from deciding, as a sentence: the cluster is not read yet, another
 * replica leads, or nodes have not reported yet. Confined to the loop, but for {@link #expiry}.
 */
public final class ReadinessGate {
  /** A node that has not reported by then is taken for one that does not report. */
  public static final long FIRST_REPORTS_MS = 3_000;

  private final BooleanSupplier allReported;
  private final LongSupplier clockMs;
  private final Set<String> unread = new LinkedHashSet<>(List.of("pods", "nodes"));
  private Supplier<Optional<String>> closed = Optional::empty;
  private LongSupplier term = () -> 0;
  private long syncedAtMs = -1;
  private boolean firstReportsOver;

  /**
   * @param allReported whether every GPU node has reported
   */
  public ReadinessGate(BooleanSupplier allReported, LongSupplier clockMs) {
    this.allReported = allReported;
    this.clockMs = clockMs;
  }

  /**
   * An informer has shown everything once.
   *
   * @param what {@code pods} or {@code nodes}
   */
  public void read(String what) {
    unread.remove(what);
  }

  /** The informers have shown everything once. */
  public void synced() {
    syncedAtMs = clockMs.getAsLong();
  }

  /**
   * Nothing is decided while leadership, or the like, is missing.
   *
   * @param reason why it is missing, as a sentence
   * @param number another one each time that it is won; both are asked on any thread
   */
  public void closeWhile(Supplier<Optional<String>> reason, LongSupplier number) {
    closed = reason;
    term = number;
  }

  /** Whether another replica is to be asked, however much this one knows. */
  public boolean closed() {
    return closed.get().isPresent();
  }

  /** What keeps us from deciding; empty when nothing does. */
  public Optional<String> notDeciding() {
    return notReady().or(closed);
  }

  /** What we do not know yet; a follower knows all and decides nothing. */
  public Optional<String> notReady() {
    if (syncedAtMs < 0) {
      String what = String.join(" and ", unread);
      return Optional.of("the extender has not read the cluster's " + what + " yet");
    }
    return Optional.empty();
  }

  /**
   * Why a silent node may still report; empty when all have had their time. Nodes that have
   * reported take pods meanwhile, but nobody is rejected, nor evicted, for the others.
   */
  public Optional<String> awaitingFirstReports() {
    // Once is enough: a node that falls silent later is refused by itself.
    boolean read = syncedAtMs >= 0;
    firstReportsOver =
        firstReportsOver
            || (read
                && (clockMs.getAsLong() - syncedAtMs >= FIRST_REPORTS_MS
                    || allReported.getAsBoolean()));
    return firstReportsOver
        ? Optional.empty()
        : Optional.of("the extender waits up to 3 s for the GPU nodes' first reports");
  }

  /**
   * Tells, on any thread, why what is decided now may not be carried out any more.
   *
   * @param withinMs so long it may wait at most
   */
  public Supplier<Optional<String>> expiry(long withinMs) {
    long decidedIn = term.getAsLong();
    long untilMs = clockMs.getAsLong() + withinMs;
    return () -> {
      Optional<String> reason = closed.get();
      if (reason.isPresent()) {
        return reason;
      }
      if (term.getAsLong() != decidedIn) {
        return Optional.of("another may have decided since this was; this is tried again");
      }
      return clockMs.getAsLong() < untilMs
          ? Optional.empty()
          : Optional.of("it has waited for %d ms; this is tried again".formatted(withinMs));
    };
  }
}
