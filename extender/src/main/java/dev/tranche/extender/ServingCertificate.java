package dev.tranche.extender;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The content of the Secret with our serving certificate.
 *
 * @param authorities the certificate authorities to trust; empty if the Secret has none
 */
record ServingCertificate(PemKeyCertOptions certificate, Optional<PemTrustOptions> authorities) {
  /** Returns what is in a Secret; empty if it lacks the certificate or its key. */
  static Optional<ServingCertificate> of(@Nullable Map<String, String> data) {
    Map<String, String> entries = data == null ? Map.of() : data;
    Optional<Buffer> certificate = entry(entries, "tls.crt");
    Optional<Buffer> key = entry(entries, "tls.key");
    if (certificate.isEmpty() || key.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        new ServingCertificate(
            new PemKeyCertOptions().addCertValue(certificate.get()).addKeyValue(key.get()),
            entry(entries, "ca.crt").map(ca -> new PemTrustOptions().addCertValue(ca))));
  }

  /** An empty entry counts as none: a Secret of the type kubernetes.io/tls cannot lack one. */
  private static Optional<Buffer> entry(Map<String, String> data, String key) {
    return Optional.ofNullable(data.get(key))
        .filter(base64 -> !base64.isEmpty())
        .map(base64 -> Buffer.buffer(Base64.getDecoder().decode(base64)));
  }
}
