package dev.tranche.extender.election;

import io.fabric8.kubernetes.api.model.coordination.v1.LeaseSpec;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The rounds of {@link Leadership} without its thread and its calls: the caller reads the Lease,
 * writes it, and reports what came of both. The rules are those of {@link LeaseElection}.
 */
public final class SimulatedLeadership {
  /** What to write over the Lease that was read. */
  public record Round(LeaseSpec spec, boolean renewal, long beganMonotonicNs, long beganWallMs) {}

  private final LeaseElection election;
  private final LongSupplier monotonicMs;
  private final LongSupplier wallMs;
  private boolean leading;
  private long term;

  public SimulatedLeadership(String identity, LongSupplier monotonicMs, LongSupplier wallMs) {
    this.election = new LeaseElection(identity);
    this.monotonicMs = monotonicMs;
    this.wallMs = wallMs;
  }

  private LeaseElection.Moment now() {
    return new LeaseElection.Moment(monotonicMs.getAsLong() * 1_000_000, wallMs.getAsLong());
  }

  /** Returns why another may lead; empty while this replica leads. */
  public Optional<String> missing() {
    if (!leading) {
      return Optional.of("the Lease is held by another process");
    }
    return election.valid(now())
        ? Optional.empty()
        : Optional.of("the Lease was not renewed, so another process may acquire it");
  }

  public long term() {
    return term;
  }

  /**
   * The Lease was read.
   *
   * @param beganMonotonicMs from before it was read
   * @param beganWallMs from before it was read
   * @return what to write; empty while another holds the Lease
   */
  public Optional<Round> read(@Nullable LeaseSpec found, long beganMonotonicMs, long beganWallMs) {
    var began = new LeaseElection.Moment(beganMonotonicMs * 1_000_000, beganWallMs);
    Optional<LeaseElection.Write> next = election.nextWrite(found, began);
    if (next.isEmpty()) {
      stopLeading();
    }
    return next.map(
        write -> new Round(write.spec(), write.renewal(), began.monotonicNs(), began.wallMs()));
  }

  /**
   * The API server has accepted the write.
   *
   * @return whether this replica begins to lead
   */
  public boolean written(Round round) {
    var began = new LeaseElection.Moment(round.beganMonotonicNs(), round.beganWallMs());
    election.written(new LeaseElection.Write(round.spec(), round.renewal()), began);
    if (leading && round.renewal()) {
      return false;
    }
    term++;
    leading = true;
    return true;
  }

  /** A call has failed, which is no loss of the Lease yet. */
  public void unreachable() {
    if (leading && !election.valid(now())) {
      stopLeading();
    }
  }

  private void stopLeading() {
    election.lost();
    leading = false;
  }
}
