package dev.tranche.webhook.tls;

import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A certificate and its private key.
 *
 * @param intermediates between the certificate and an authority that is trusted
 */
public record TlsKeyPair(
    X509Certificate certificate, List<X509Certificate> intermediates, PrivateKey key) {
  TlsKeyPair(X509Certificate certificate, PrivateKey key) {
    this(certificate, List.of(), key);
  }

  /** Returns the certificate and its intermediates, as they are served. */
  public String certificatePem() {
    return Stream.concat(Stream.of(certificate), intermediates.stream())
        .map(Pem::certificate)
        .collect(Collectors.joining());
  }

  public String keyPem() {
    return Pem.key(key);
  }

  public Instant expiry() {
    return certificate.getNotAfter().toInstant();
  }

  /**
   * Omits the key, since this goes to logs. Certificates of cert-manager have names but no subject.
   */
  @Override
  public String toString() {
    String subject = certificate.getSubjectX500Principal().getName();
    return "certificate "
        + certificate.getSerialNumber().toString(16)
        + " of "
        + (subject.isEmpty() ? Renewal.names(certificate) : subject)
        + ", ends "
        + expiry();
  }
}
