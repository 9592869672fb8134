package dev.tranche.webhook.tls;

import java.security.GeneralSecurityException;
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

/** Judges whether a certificate may go on serving. */
final class Renewal {
  private Renewal() {}

  /** Returns why a serving certificate must be replaced now; empty if it need not be. */
  static Optional<String> reason(
      TlsKeyPair serving, X509Certificate authority, List<String> dnsNames, Instant now) {
    if (!signedBy(serving.certificate(), authority)) {
      return Optional.of("another CA signed it");
    }
    if (!keyMatches(serving)) {
      return Optional.of("its key is another certificate's");
    }
    if (!names(serving.certificate()).containsAll(dnsNames)) {
      return Optional.of("it lacks one of the DNS names " + dnsNames);
    }
    if (!now.isBefore(due(serving.certificate()))) {
      return Optional.of(
          "less than a third of its lifetime is left; it expires " + serving.expiry());
    }
    return Optional.empty();
  }

  /** Returns when two thirds of its life are over: a third is left for failures and retries. */
  static Instant due(X509Certificate certificate) {
    Instant start = certificate.getNotBefore().toInstant();
    Duration life = Duration.between(start, certificate.getNotAfter().toInstant());
    return start.plus(life.multipliedBy(2).dividedBy(3));
  }

  static boolean signedBy(X509Certificate certificate, X509Certificate authority) {
    try {
      certificate.verify(authority.getPublicKey());
      return certificate.getIssuerX500Principal().equals(authority.getSubjectX500Principal());
    } catch (GeneralSecurityException notItsSignature) {
      return false;
    }
  }

  /** Whether the key is the certificate's. */
  static boolean keyMatches(TlsKeyPair pair) {
    try {
      Signature signature = Signature.getInstance("SHA256withECDSA");
      signature.initSign(pair.key());
      byte[] signed = signature.sign();
      // Verify with the key, not the certificate: an authority's key usages allow no such
      // signature.
      signature.initVerify(pair.certificate().getPublicKey());
      return signature.verify(signed);
    } catch (GeneralSecurityException notAPair) {
      return false;
    }
  }

  static Set<String> names(X509Certificate certificate) {
    try {
      Collection<List<?>> names = certificate.getSubjectAlternativeNames();
      return names == null
          ? Set.of()
          : names.stream().map(entry -> String.valueOf(entry.get(1))).collect(Collectors.toSet());
    } catch (CertificateParsingException unreadable) {
      return Set.of();
    }
  }
}
