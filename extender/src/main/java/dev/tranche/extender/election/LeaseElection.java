package dev.tranche.extender.election;

import io.fabric8.kubernetes.api.model.coordination.v1.LeaseSpec;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseSpecBuilder;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The rules of leader election on a Lease, without I/O. Confined to one thread, except {@link
 * #valid}. As in client-go, times that another machine wrote are only compared for change, never
 * with our clock. A Lease is taken over once our monotonic clock has seen it unchanged for its
 * duration.
 */
final class LeaseElection {
  static final Duration LEASE = Duration.ofSeconds(15);

  /**
   * How long we lead after the start of a renewal. A request sent at the last moment must have
   * failed or arrived before another may lead.
   */
  static final Duration VALID = Duration.ofSeconds(10);

  /**
   * A reading of both clocks.
   *
   * @param monotonicNs nobody can set it, but it may stop while the machine is suspended
   * @param wallMs advances meanwhile, but somebody may set it
   */
  record Moment(long monotonicNs, long wallMs) {
    static Moment now() {
      return new Moment(System.nanoTime(), System.currentTimeMillis());
    }

    /** Returns the elapsed time, by the clock that has advanced more. */
    Duration since(Moment earlier) {
      Duration monotonic = Duration.ofNanos(monotonicNs - earlier.monotonicNs);
      Duration wall = Duration.ofMillis(wallMs - earlier.wallMs);
      return monotonic.compareTo(wall) >= 0 ? monotonic : wall;
    }
  }

  /**
   * What to write.
   *
   * @param renewal we held the Lease before, and nobody else has since
   */
  record Write(LeaseSpec spec, boolean renewal) {}

  private final String identity;
  private @Nullable LeaseSpec observed;
  private long observedNs;
  private @Nullable LeaseSpec own;
  private volatile @Nullable Moment renewed;

  LeaseElection(String identity) {
    this.identity = identity;
  }

  /**
   * Returns what to write over a Lease that was read; empty while another holds it.
   *
   * @param found null: there is none
   * @param now a reading from before the Lease was read
   */
  Optional<Write> nextWrite(@Nullable LeaseSpec found, Moment now) {
    // The first read of a Lease doesn't tell its age.
    if (!Objects.equals(found, observed)) {
      observed = found;
      observedNs = now.monotonicNs();
    }
    String holder = holder(found);
    if (found != null && holder.equals(identity)) {
      boolean renewal = own != null && transitions(own) == transitions(found);
      return Optional.of(new Write(spec(found.getAcquireTime(), transitions(found), now), renewal));
    }
    if (found != null && !holder.isEmpty() && !expired(found, now)) {
      return Optional.empty();
    }
    int transitions = found == null ? 0 : transitions(found) + 1;
    return Optional.of(new Write(spec(null, transitions, now), false));
  }

  private boolean expired(LeaseSpec found, Moment now) {
    int declaredSeconds = Objects.requireNonNullElse(found.getLeaseDurationSeconds(), 0);
    long seconds = Math.max(LEASE.toSeconds(), declaredSeconds);
    return now.monotonicNs() - observedNs >= Duration.ofSeconds(seconds).toNanos();
  }

  private LeaseSpec spec(@Nullable ZonedDateTime acquired, int transitions, Moment now) {
    ZonedDateTime at = Instant.ofEpochMilli(now.wallMs()).atZone(ZoneOffset.UTC);
    return new LeaseSpecBuilder()
        .withHolderIdentity(identity)
        .withLeaseDurationSeconds((int) LEASE.toSeconds())
        .withAcquireTime(Objects.requireNonNullElse(acquired, at))
        .withRenewTime(at)
        .withLeaseTransitions(transitions)
        .build();
  }

  /** Records that the API server has accepted a write, and when that write was begun. */
  void written(Write write, Moment began) {
    own = write.spec();
    renewed = began;
  }

  /** Another holds the Lease, or we gave it up. */
  void lost() {
    own = null;
    renewed = null;
  }

  /** Whether we may still consider ourselves the leader; may be called on any thread. */
  boolean valid(Moment now) {
    Moment last = renewed;
    return last != null && now.since(last).compareTo(VALID) < 0;
  }

  /** Returns the Lease as client-go releases it: anybody may acquire it at once. */
  static LeaseSpec released(LeaseSpec held) {
    return new LeaseSpecBuilder(held).withHolderIdentity("").withLeaseDurationSeconds(1).build();
  }

  static String holder(@Nullable LeaseSpec spec) {
    return spec == null ? "" : Objects.requireNonNullElse(spec.getHolderIdentity(), "");
  }

  private static int transitions(LeaseSpec spec) {
    return Objects.requireNonNullElse(spec.getLeaseTransitions(), 0);
  }
}
