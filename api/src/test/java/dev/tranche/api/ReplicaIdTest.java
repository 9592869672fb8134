package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReplicaIdTest {
  private static final String UUID = "GPU-8f1f9b1e-2a5e-4b7c-9a34-0d8b6c6f1a01";

  @Test
  void id_isOfTheFormThatOthersParse() {
    assertThat(new ReplicaId(UUID, 0)).hasToString(UUID + "::0");
    assertThat(ReplicaId.unshared(UUID)).hasToString(UUID);
  }

  @ParameterizedTest
  @ValueSource(strings = {UUID, UUID + "::0", UUID + "::99", UUID + "::x", UUID + "::1::2"})
  void uuidOf_isFoundInEachForm(String id) {
    assertThat(ReplicaId.uuidOf(id)).isEqualTo(UUID);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "::1", UUID + "::1"})
  void whatIsNoUuid_isRefused(String uuid) {
    assertThatThrownBy(() -> new ReplicaId(uuid, 0)).isInstanceOf(IllegalArgumentException.class);
  }
}
