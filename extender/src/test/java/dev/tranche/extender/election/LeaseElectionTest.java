package dev.tranche.extender.election;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.election.LeaseElection.Moment;
import dev.tranche.extender.election.LeaseElection.Write;
import dev.tranche.process.fuzz.Seeds;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseSpec;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseSpecBuilder;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class LeaseElectionTest {
  private final LeaseElection one = new LeaseElection("one");
  private final LeaseElection two = new LeaseElection("two");

  private static Moment at(long monotonicS, long wallS) {
    return new Moment(
        Duration.ofSeconds(monotonicS).toNanos(), Duration.ofSeconds(wallS).toMillis());
  }

  @ParameterizedTest
  @ValueSource(longs = {-3_600, -16, 0, 16, 3_600})
  void leaseThatIsRenewed_isNotTaken_whateverTheOtherMachinesClockSays(long skewS) {
    @Nullable LeaseSpec lease = null;
    for (long s = 0; s <= 120; s += 2) {
      Moment there = at(s, 10_000 + s + skewS);
      Write write = one.nextWrite(lease, there).orElseThrow();
      one.written(write, there);
      lease = write.spec();
      assertThat(two.nextWrite(lease, at(s, 10_000 + s))).as("after %d s", s).isEmpty();
    }
  }

  @Test
  void leaseThatStandsStill_isTaken_onceWeHaveSeenItSoForItsDuration() {
    LeaseSpec left = one.nextWrite(null, at(0, 0)).orElseThrow().spec();
    assertThat(two.nextWrite(left, at(100, 100))).isEmpty();
    assertThat(two.nextWrite(left, at(114, 100_000))).isEmpty();
    Write taken = two.nextWrite(left, at(115, 0)).orElseThrow();
    assertThat(taken.renewal()).isFalse();
    assertThat(taken.spec().getHolderIdentity()).isEqualTo("two");
    assertThat(taken.spec().getLeaseTransitions()).isEqualTo(1);
    LeaseSpec longer = new LeaseSpecBuilder(left).withLeaseDurationSeconds(40).build();
    assertThat(two.nextWrite(longer, at(200, 0))).isEmpty();
    assertThat(two.nextWrite(longer, at(239, 0))).isEmpty();
    assertThat(two.nextWrite(longer, at(240, 0))).isPresent();
  }

  @Test
  void leaseThatIsReleased_isTakenAtOnce_andTheFormerLeadersNextTermIsANewOne() {
    Write first = one.nextWrite(null, at(0, 0)).orElseThrow();
    one.written(first, at(0, 0));
    assertThat(one.nextWrite(first.spec(), at(2, 2)).orElseThrow().renewal()).isTrue();
    LeaseSpec free = LeaseElection.released(first.spec());
    Write second = two.nextWrite(free, at(3, 3)).orElseThrow();
    two.written(second, at(3, 3));
    LeaseSpec again = LeaseElection.released(second.spec());
    assertThat(one.nextWrite(again, at(4, 4)).orElseThrow().renewal()).isFalse();
  }

  /** The monotonic clock stands still while a machine is suspended, and somebody sets the other. */
  @Test
  void ownLease_isOfAnAgeByTheClockThatSaysMore() {
    Write write = one.nextWrite(null, at(0, 1_000)).orElseThrow();
    assertThat(one.valid(at(0, 1_000))).isFalse();
    one.written(write, at(0, 1_000));
    assertThat(one.valid(at(9, 1_009))).isTrue();
    assertThat(one.valid(at(1, 1_010))).as("resumed").isFalse();
    assertThat(one.valid(at(10, 500))).as("set back").isFalse();
    assertThat(one.valid(at(9, 500))).as("set back").isTrue();
    one.lost();
    assertThat(one.valid(at(1, 1_001))).isFalse();
  }

  /** Machines of random clocks that stall, are suspended, and are cut off at random. */
  @Test
  void twoMachines_neverLeadAtOnce() {
    long[] seeds = Seeds.of(30);
    int terms = LongStream.of(seeds).mapToInt(LeaseElectionTest::simulated).sum();
    assertThat(terms).as("terms in all: leadership has moved").isGreaterThan(2 * seeds.length);
  }

  private static int simulated(long seed) {
    var random = new Random(seed);
    var api = new Server();
    List<Machine> machines =
        Stream.of("one", "two").map(name -> new Machine(name, random, api)).toList();
    for (int s = 0; s < 600; s++) {
      machines.forEach(Machine::step);
      assertThat(machines.stream().filter(Machine::leads).count())
          .as("leaders, seed %d, second %d", seed, s)
          .isLessThanOrEqualTo(1);
    }
    return api.terms;
  }

  private static final class Server {
    @Nullable LeaseSpec lease;
    int version;
    int terms;
  }

  /** Reads, and writes a second or more later; nothing moves while it is suspended. */
  private static final class Machine {
    private final LeaseElection election;
    private final Random random;
    private final Server api;

    /** Or else its wall clock is set now and then: with both at once no clock tells the time. */
    private final boolean suspends;

    private long monotonicS;

    /**
     * Nobody sets it to a millisecond that it has had: a Lease would look as if it were unchanged.
     */
    private long wallMs;

    private int suspendedS;
    private int stalledS;
    private Moment began = at(0, 0);
    private int readVersion;
    private Optional<Write> pending = Optional.empty();

    Machine(String name, Random random, Server api) {
      this.election = new LeaseElection(name);
      this.random = random;
      this.api = api;
      this.suspends = random.nextBoolean();
      this.monotonicS = random.nextInt(1_000_000);
      this.wallMs = random.nextInt(1_000_000_000);
    }

    void step() {
      wallMs += 1_000;
      if (suspendedS > 0) {
        suspendedS--;
        return;
      }
      monotonicS++;
      suspendedS = suspends && random.nextInt(60) == 0 ? random.nextInt(40) : 0;
      wallMs += !suspends && random.nextInt(100) == 0 ? random.nextInt(-30_000, 30_000) : 0;
      if (stalledS > 0) {
        stalledS--;
        return;
      }
      stalledS = random.nextInt(20) == 0 ? random.nextInt(30) : random.nextInt(3);
      if (pending.isPresent()) {
        write(pending.get());
      } else {
        began = now();
        readVersion = api.version;
        pending = election.nextWrite(api.lease, began);
        if (pending.isEmpty()) {
          election.lost();
        }
      }
    }

    private void write(Write write) {
      pending = Optional.empty();
      if (readVersion == api.version) {
        api.lease = write.spec();
        api.version++;
        api.terms += write.renewal() ? 0 : 1;
        election.written(write, began);
      }
    }

    private Moment now() {
      return new Moment(Duration.ofSeconds(monotonicS).toNanos(), wallMs);
    }

    boolean leads() {
      return suspendedS == 0 && election.valid(now());
    }
  }
}
