package dev.tranche.extender;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class ServingCertificateTest {
  private static Map<String, String> data(String... entries) {
    Map<String, String> data = new HashMap<>();
    for (int i = 0; i < entries.length; i += 2) {
      data.put(entries[i], Base64.getEncoder().encodeToString(entries[i + 1].getBytes(UTF_8)));
    }
    return data;
  }

  /** A Secret of the type kubernetes.io/tls is emptied by entries without content. */
  @Test
  void emptyEntry_isNone() {
    assertThat(ServingCertificate.of(Map.of())).isEmpty();
    assertThat(ServingCertificate.of(data("tls.crt", "", "tls.key", ""))).isEmpty();
    assertThat(ServingCertificate.of(data("tls.crt", "c", "tls.key", ""))).isEmpty();
    assertThat(ServingCertificate.of(data("tls.crt", "", "tls.key", "k", "ca.crt", "a"))).isEmpty();
    assertThat(ServingCertificate.of(data("tls.crt", "c", "tls.key", "k", "ca.crt", "")))
        .hasValueSatisfying(material -> assertThat(material.authorities()).isEmpty());
  }

  @Test
  void certificateAndKey_areDecoded() {
    assertThat(ServingCertificate.of(data("tls.crt", "c", "tls.key", "k", "ca.crt", "a")))
        .hasValueSatisfying(
            material -> {
              assertThat(material.certificate().getCertValue()).hasToString("c");
              assertThat(material.certificate().getKeyValue()).hasToString("k");
              assertThat(material.authorities().orElseThrow().getCertValues())
                  .singleElement()
                  .hasToString("a");
            });
  }
}
