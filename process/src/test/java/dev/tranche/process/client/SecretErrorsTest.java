package dev.tranche.process.client;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SecretErrorsTest {
  @Test
  void errors_nameTheSecret_whatIsWrong_andWhatToDo() {
    assertThat(SecretErrors.missing("gpu", "tls", "the webhook writes it"))
        .isEqualTo("Secret gpu/tls does not exist; the webhook writes it");
    assertThat(SecretErrors.without("gpu", "tls", "ca.crt", "choose another issuer"))
        .isEqualTo("Secret gpu/tls has no ca.crt; choose another issuer");
  }
}
