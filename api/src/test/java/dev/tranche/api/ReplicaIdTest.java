package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReplicaIdTest {
  private static final String UUID = "GPU-8f1f9b1e-2a5e-4b7c-9a34-0d8b6c6f1a01";

  @Test
  void id_isOfTheFormThatOthersParse() {
    assertThat(ReplicaId.of(UUID, 0)).isEqualTo(UUID + "::0");
  }

  @ParameterizedTest
  @ValueSource(strings = {UUID, UUID + "::0", UUID + "::99", UUID + "::x", UUID + "::1::2"})
  void uuidOf_isFoundInEachForm(String id) {
    assertThat(ReplicaId.uuidOf(id)).isEqualTo(UUID);
  }
}
