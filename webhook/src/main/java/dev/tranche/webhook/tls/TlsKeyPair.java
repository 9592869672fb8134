package dev.tranche.webhook.tls;

import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A certificate and its private key.
 *
 * @param chain the certificate, and what is between it and an authority that is trusted; of an
 *     authority, those before it that are trusted, too
 */
public record TlsKeyPair(List<X509Certificate> chain, PrivateKey key) {
  public X509Certificate certificate() {
    return chain.getFirst();
  }

  /** Returns the certificates as they are served. */
  public String certificatePem() {
    return Certificates.pem(chain);
  }

  public String keyPem() {
    return Certificates.pem(key);
  }

  public Instant expiry() {
    return certificate().getNotAfter().toInstant();
  }

  /** Returns why it must be replaced now; empty if it need not be. */
  Optional<String> replacedBecause(
      List<X509Certificate> trusted, List<String> dnsNames, Instant now) {
    if (trusted.stream().noneMatch(ca -> Certificates.signedBy(certificate(), ca))) {
      return Optional.of("another CA signed it");
    }
    if (!keyMatches()) {
      return Optional.of("its key is another certificate's");
    }
    if (!names().containsAll(dnsNames)) {
      return Optional.of("it lacks one of the DNS names " + dnsNames);
    }
    if (isDue(now)) {
      return Optional.of("less than a third of its lifetime is left; it expires " + expiry());
    }
    return Optional.empty();
  }

  /** Whether two thirds of its life are over: a third is left for failures and retries. */
  boolean isDue(Instant now) {
    Instant start = certificate().getNotBefore().toInstant();
    Duration life = Duration.between(start, expiry());
    return !now.isBefore(start.plus(life.multipliedBy(2).dividedBy(3)));
  }

  /** Whether the key is the certificate's. */
  boolean keyMatches() {
    try {
      Signature signature = Signature.getInstance("SHA256withECDSA");
      signature.initSign(key);
      byte[] signed = signature.sign();
      // Verify with the key, not the certificate: an authority's key usages allow no such
      // signature.
      signature.initVerify(certificate().getPublicKey());
      return signature.verify(signed);
    } catch (GeneralSecurityException notAPair) {
      return false;
    }
  }

  private Set<String> names() {
    try {
      Collection<List<?>> names = certificate().getSubjectAlternativeNames();
      return names == null
          ? Set.of()
          : names.stream().map(entry -> String.valueOf(entry.get(1))).collect(Collectors.toSet());
    } catch (CertificateParsingException unreadable) {
      return Set.of();
    }
  }

  /**
   * Omits the key, since this goes to logs. Certificates of cert-manager have names but no subject.
   */
  @Override
  public String toString() {
    X509Certificate certificate = certificate();
    String subject = certificate.getSubjectX500Principal().getName();
    return "certificate %s of %s, ends %s"
        .formatted(
            certificate.getSerialNumber().toString(16),
            subject.isEmpty() ? names() : subject,
            expiry());
  }
}
