package dev.tranche.webhook.tls;

import dev.tranche.process.client.SecretErrors;
import dev.tranche.webhook.tls.TlsStore.StoredSecret;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Reconciles certificates that cert-manager issues; cert-manager also writes the caBundle into the
 * configuration. The webhook only serves its certificate, and publishes the bundle by which the
 * nodes trust the extender. The bundle keeps earlier CAs until they expire.
 */
final class CertManagerReconciler {
  private static final int TRUSTED_MAX = 8;

  private final TlsStore store;
  private final TlsNames names;
  private final InstantSource clock;

  CertManagerReconciler(TlsStore store, TlsNames names, InstantSource clock) {
    this.store = store;
    this.names = names;
    this.clock = clock;
  }

  TlsState reconcile() {
    TlsKeyPair webhook = pair(names.webhookSecret());
    TlsKeyPair extender = pair(names.extenderSecret());
    List<X509Certificate> extenderTrusted = trusted(names.extenderSecret());
    store.writeBundle(union(extenderTrusted));
    return new TlsState(
        trusted(names.webhookSecret()),
        webhook,
        extender.certificate(),
        store.hasBundles()
            ? Optional.empty()
            : Optional.of(
                "cert-manager has not yet written the caBundle of MutatingWebhookConfiguration %s"
                    .formatted(names.configuration())));
  }

  private TlsKeyPair pair(String secret) {
    return read(secret)
        .pair("tls.crt", "tls.key")
        .filter(Renewal::keyMatches)
        .orElseThrow(
            () ->
                new IllegalStateException(
                    SecretErrors.without(
                        names.namespace(),
                        secret,
                        "matching, readable tls.crt and tls.key (ECDSA, PKCS #8)",
                        "cert-manager writes it, see its Certificate " + secret)));
  }

  private List<X509Certificate> trusted(String secret) {
    try {
      List<X509Certificate> authorities = Pem.certificates(read(secret).text(TlsStore.BUNDLE_KEY));
      if (!authorities.isEmpty()) {
        return authorities;
      }
    } catch (GeneralSecurityException unreadable) {
      throw new IllegalStateException(
          "Secret %s/%s: ca.crt cannot be read".formatted(names.namespace(), secret), unreadable);
    }
    throw new IllegalStateException(
        SecretErrors.without(
            names.namespace(),
            secret,
            TlsStore.BUNDLE_KEY,
            "the issuer must be one that provides its CA, such as a CA issuer"));
  }

  private StoredSecret read(String secret) {
    return store.read(secret);
  }

  private String union(List<X509Certificate> newest) {
    Instant now = clock.instant();
    var union = new ArrayList<>(newest);
    for (X509Certificate before : store.bundle()) {
      boolean ended = !now.isBefore(before.getNotAfter().toInstant());
      if (!ended && !union.contains(before) && union.size() < TRUSTED_MAX) {
        union.add(before);
      }
    }
    return union.stream().map(Pem::certificate).collect(Collectors.joining());
  }
}
