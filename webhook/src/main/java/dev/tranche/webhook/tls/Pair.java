package dev.tranche.webhook.tls;

import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Instant;

/** A certificate and its private key. */
public record Pair(X509Certificate certificate, PrivateKey key) {
  public String certificatePem() {
    return Pem.certificate(certificate);
  }

  public String keyPem() {
    return Pem.key(key);
  }

  public Instant expiry() {
    return certificate.getNotAfter().toInstant();
  }

  /** Without the key, since this goes to logs. */
  @Override
  public String toString() {
    return "certificate "
        + certificate.getSerialNumber().toString(16)
        + " of "
        + certificate.getSubjectX500Principal()
        + ", ends "
        + expiry();
  }
}
