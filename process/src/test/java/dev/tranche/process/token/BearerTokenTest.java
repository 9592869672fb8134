package dev.tranche.process.token;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

final class BearerTokenTest {
  /** HTTP/2 keeps the space that HTTP/1.1 strips. */
  @ParameterizedTest
  @NullSource
  @ValueSource(
      strings = {"", "Bearer", "Bearer ", "Bearer  ", "bearer a", "Bearer a b", "Bearer ä"})
  void whatIsNoToken_isNotReviewed(String header) {
    assertThat(BearerToken.of(header)).isEmpty();
  }

  @Test
  void tokenIsTaken_asItIs() {
    assertThat(BearerToken.of("Bearer eyJ.a-b_c~+/=")).hasValue("eyJ.a-b_c~+/=");
  }
}
