package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import org.junit.jupiter.api.Test;

final class ReportRateTest {
  private static final String NODE = "10.0.0.1";
  private static final String THIEF = "10.0.9.9";

  private final ReportRate rate = new ReportRate(0);

  private Optional<String> take(int size, long nowMs) {
    return rate.take(NODE, size, nowMs);
  }

  /** Twenty messages of 2.3 MB: one of the address's own share, the others of what is shared. */
  @Test
  void manyLargeReportsAtOnce_areTooFast() {
    int taken = 0;
    while (taken < 20 && take(2_300_000, 0).isEmpty()) {
      taken++;
    }
    assertThat(taken).isEqualTo(15);
    assertThat(take(2_300_000, 0).orElseThrow()).contains("8388608 bytes a second");
  }

  @Test
  void manySmallReportsAtOnce_areTooFast_andAnswersToABurstOfBindsAreNot() {
    for (int i = 0; i < ReportRate.MESSAGES_BURST + ReportRate.OWN_MESSAGES_BURST; i++) {
      assertThat(take(20_000, 0)).isEmpty();
    }
    assertThat(take(20_000, 0)).isPresent();
    assertThat(take(20_000, 1_000)).isEmpty();
  }

  @Test
  void steadyReports_areNeverTooFast_andNeedNotBeRemembered() {
    for (long nowMs = 0; nowMs < 3_600_000; nowMs += 1_000) {
      assertThat(take(2_000_000, nowMs)).isEmpty();
    }
    assertThat(rate.isRefilled(3_605_000)).isTrue();
  }

  /** The thief opens one stream after the other; only its address stays the same. */
  @Test
  void thiefWhoReportsWithoutEnd_takesNothingOfTheNodesOwnShare() {
    for (long nowMs = 0; nowMs < 600_000; nowMs += 100) {
      int stolen = 0;
      while (rate.take(THIEF, 1_000, nowMs).isEmpty()) {
        stolen++;
      }
      assertThat(stolen).as("at %d ms", nowMs).isLessThanOrEqualTo(nowMs == 0 ? 1_100 : 11);
      if (nowMs % 5_000 == 0) {
        assertThat(take(1 << 20, nowMs)).as("at %d ms", nowMs).isEmpty();
      }
    }
  }

  /** As many as a node could not have; those that came first keep their share. */
  @Test
  void thiefWithManyAddresses_isBounded_andTheNodeKeepsItsShare() {
    assertThat(take(1_000, 0)).isEmpty();
    int stolen = 0;
    for (int address = 0; address < 100; address++) {
      while (rate.take(THIEF + address, 1_000, 1).isEmpty()) {
        stolen++;
      }
    }
    assertThat(stolen)
        .isEqualTo(
            ReportRate.MESSAGES_BURST
                + (ReportRate.ADDRESSES_MAX - 1) * ReportRate.OWN_MESSAGES_BURST);
    assertThat(take(ReportRate.OWN_BYTES_BURST - 1_000, 1)).isEmpty();
  }

  @Test
  void addressThatIsNotUsed_leavesItsShareToANewOne() {
    for (int address = 0; address < ReportRate.ADDRESSES_MAX; address++) {
      while (rate.take(THIEF + address, 1_000, 0).isEmpty()) {
        // Until nothing is left of what is shared, nor of its own.
      }
    }
    assertThat(take(ReportRate.OWN_BYTES_BURST, 1)).isPresent();
    long laterMs = ReportRate.UNUSED_MS;
    for (int i = 0; i < ReportRate.MESSAGES_BURST; i++) {
      assertThat(take(20_000, laterMs)).isEmpty();
    }
    assertThat(take(20_000, laterMs)).isEmpty();
  }
}
