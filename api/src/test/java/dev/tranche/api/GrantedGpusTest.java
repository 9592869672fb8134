package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GrantedGpusTest {
  private static final Instant AT = Instant.parse("2026-11-23T20:14:31Z");

  @ParameterizedTest
  @CsvSource({"0, 1, 1, true", "0, 1, 1.1, false", "7, 1, 0.3, true", "8, 1, 0.3, false"})
  void whatIsWritten_isReadAgain(int tenths, int gpus, double needed, boolean leaves) {
    for (var written :
        new GrantedGpus[] {
          new GrantedGpus(tenths, gpus, 0, 0), new GrantedGpus(tenths, gpus, 2, 10)
        }) {
      var read = GrantedGpus.read(written + ", 14 GiB memory, as of " + AT).orElseThrow();
      assertThat(read).isEqualTo(new GrantedGpus.Written(written, AT));
      assertThat(read.granted().leaves(needed)).isEqualTo(leaves);
    }
  }

  @ParameterizedTest
  @CsvSource({"-601, 0", "-600, 10", "0, 10", "600, 10", "601, 0"})
  void freeShare_countsForTenMinutes(long seconds, int replicasPerGpu) {
    var written = new GrantedGpus.Written(new GrantedGpus(5, 2, 4, 10), AT);
    assertThat(written.now(AT.plusSeconds(seconds)).replicasPerGpu()).isEqualTo(replicasPerGpu);
  }

  @ParameterizedTest
  @CsvSource({"3, 10, true", "4, 10, false", "18, 60, true", "19, 60, false"})
  void share_fitsWhatIsFreeOnOneGpu(int replicas, int ofReplicas, boolean fits) {
    assertThat(new GrantedGpus(0, 8, 3, 10).fitsShare(replicas, ofReplicas)).isEqualTo(fits);
    assertThat(new GrantedGpus(0, 8, 0, 0).fitsShare(replicas, ofReplicas)).isTrue();
  }

  @ParameterizedTest
  @CsvSource({"10, 1, 10, false", "0, 1, 9, true", "7, 1, 3, false", "14, 2, 3, true"})
  void freeShare_mayBeLessThanTheGrantedReplicasSay(
      int tenths, int gpus, int freeShare, boolean less) {
    assertThat(new GrantedGpus(tenths, gpus, freeShare, 10).sharesLess()).isEqualTo(less);
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
        .hasValueSatisfying(read -> assertThat(read.granted().replicasPerGpu()).isZero());
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
    assertThat(GrantedGpus.read(annotation).orElseThrow().now(AT).replicasPerGpu()).isZero();
  }
}
