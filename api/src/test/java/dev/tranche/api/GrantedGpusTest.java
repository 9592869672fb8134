package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GrantedGpusTest {
  private static final Instant AT = Instant.parse("2026-11-23T20:14:31Z");
  private static final String BEFORE =
      "(\\d{1,7})\\.(\\d) of (\\d{1,7}) GPUs granted,"
          + " largest free share (\\d{1,4})/([1-9]\\d{0,3}),.* as of (\\S{1,40})";

  /** Of two GPUs, in every state, as both versions write it. */
  @ParameterizedTest
  @ValueSource(ints = {10, 20, 60})
  void whatIsWritten_isReadAgain(int replicasPerGpu) {
    for (int free = 0; free <= 2 * replicasPerGpu; free++) {
      int share = Math.min(free, replicasPerGpu);
      int tenths = (int) Math.round(20 - 10.0 * free / replicasPerGpu);
      var granted = new GrantedGpus(tenths, 2, free, share / 2, replicasPerGpu);
      String text = granted + ", 14 GiB memory, as of " + AT;
      var read = GrantedGpus.read(text).orElseThrow();
      assertThat(read).isEqualTo(new GrantedGpus.Written(granted, AT));
      GrantedGpus old = read.now(AT.plusSeconds(601));
      assertThat(old.leaves(free, share, replicasPerGpu)).as("%s", old).isTrue();
      assertThat(old.leaves(free + 1, share, replicasPerGpu)).as("%s", old).isFalse();
      assertThat(old.leaves(free, share + 1, replicasPerGpu)).as("%s", old).isFalse();
      assertThat(text).as("a webhook of the version before reads it").matches(BEFORE);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0.7 of 1 GPUs granted, 3, 10",
    "'0.5 of 1 GPUs granted, largest free share 11/20', 11, 20",
    "'0.5 of 8 GPUs granted, largest free share 11/20', 150, 20",
  })
  void versionBefore_wroteTenths(String text, int free, int ofReplicas) {
    GrantedGpus granted =
        GrantedGpus.read(text + ", 14 GiB memory, as of " + AT).orElseThrow().granted();
    assertThat(granted.leaves(free, 0, ofReplicas)).isTrue();
    assertThat(granted.leaves(free + 1, 0, ofReplicas)).isFalse();
  }

  @ParameterizedTest
  @CsvSource({"-601, 20", "-600, 4", "0, 4", "600, 4", "601, 20"})
  void freeShare_countsForTenMinutes(long seconds, int freeShare) {
    var written = new GrantedGpus.Written(new GrantedGpus(5, 2, 30, 4, 20), AT);
    assertThat(written.now(AT.plusSeconds(seconds)).freeShare()).isEqualTo(freeShare);
  }

  @ParameterizedTest
  @CsvSource({"3, 10, true", "4, 10, false", "18, 60, true", "19, 60, false"})
  void share_fitsWhatIsFreeOnOneGpu(int replicas, int ofReplicas, boolean fits) {
    var granted = new GrantedGpus(0, 8, 80, 3, 10);
    assertThat(granted.leaves(replicas, replicas, ofReplicas)).isEqualTo(fits);
  }

  @ParameterizedTest
  @CsvSource({"0, 0, false", "10, 9, true", "3, 3, false", "11, 10, false", "6, 3, true"})
  void freeShare_mayBeLessThanTheGrantedReplicasSay(int free, int freeShare, boolean less) {
    assertThat(new GrantedGpus(0, 2, free, freeShare, 10).sharesLess()).isEqualTo(less);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "0.5 of 2 GPUs granted",
        "all free",
        "12345678.0 of 1 GPUs granted, as of 2026-11-23T20:14:31Z",
        "0.5 of 2 GPUs granted, 14 GiB memory, as of now",
        "0.5 of 2 GPUs granted, 14 GiB memory, as of +999999999-12-31T23:59:59.999999999Z9",
      })
  void otherText_isNotRead(String annotation) {
    assertThat(GrantedGpus.read(annotation)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"99999/10", "3/0", "-1/10", "3/10/10", "٣/10"})
  void otherShare_isNotKnown(String share) {
    String annotation = "0.5 of 2 GPUs granted, largest free share %s, as of %s";
    assertThat(GrantedGpus.read(annotation.formatted(share, AT)))
        .hasValueSatisfying(read -> assertThat(read.granted().freeShare()).isEqualTo(10));
  }

  @Test
  void longText_isNotRead() {
    String annotation = "0.5 of 2 GPUs granted, %s as of " + AT;
    assertThat(GrantedGpus.read(annotation.formatted("x".repeat(300)))).isEmpty();
  }

  /** The extreme times that an annotation can name. */
  @ParameterizedTest
  @ValueSource(strings = {"-1000000000-01-01T00:00:00Z", "+1000000000-12-31T23:59:59Z"})
  void extremeTime_isOld(String at) {
    String annotation = "0.5 of 2 GPUs granted, largest free share 3/10, as of " + at;
    assertThat(GrantedGpus.read(annotation).orElseThrow().now(AT).freeShare()).isEqualTo(10);
  }
}
