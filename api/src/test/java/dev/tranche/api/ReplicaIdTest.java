package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReplicaIdTest {
  private static final String UUID = "GPU-8f1f9b1e-2a5e-4b7c-9a34-0d8b6c6f1a01";

  @ParameterizedTest
  @ValueSource(strings = {UUID, UUID + "::0", UUID + "::99", "MIG-1::3"})
  void parse_andToString_areInverse(String id) {
    assertThat(ReplicaId.parse(id)).hasToString(id);
    assertThat(ReplicaId.uuidOf(id)).isEqualTo(ReplicaId.parse(id).uuid());
  }

  @Test
  void shared_isTrue_onlyWithAnOrdinal() {
    assertThat(ReplicaId.parse(UUID).shared()).isFalse();
    assertThat(ReplicaId.parse(UUID + "::0").shared()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "::1", UUID + "::", UUID + "::x", UUID + "::-1", UUID + "::1::2"})
  void parse_refusesOtherForms(String id) {
    assertThatThrownBy(() -> ReplicaId.parse(id)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void ordinal_isWrittenInOneWayOnly() {
    assertThat(ReplicaId.parse("GPU-a::0").ordinal()).isZero();
    assertThatThrownBy(() -> ReplicaId.parse("GPU-a::00"))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> ReplicaId.parse("GPU-a::01"))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
