package dev.tranche.webhook.tls;

import dev.tranche.process.client.SecretErrors;
import dev.tranche.webhook.tls.TlsStore.StoredSecret;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Reconciles certificates that cert-manager issues; cert-manager also writes the caBundle into the
 * configuration. The webhook only serves its certificate, and publishes the bundle by which the
 * nodes trust the extender. The bundle keeps earlier CAs until they expire.
 */
record CertManagerReconciler(TlsStore store, TlsConfig config, InstantSource clock) {
  private static final int FORMER_MAX = 8;

  TlsState reconcile() {
    StoredSecret webhook = store.read(config.webhookSecret());
    StoredSecret extender = store.read(config.extenderSecret());
    TlsKeyPair webhookPair = pair(webhook);
    TlsKeyPair extenderPair = pair(extender);
    publish(trusted(extender));
    String missing =
        "cert-manager has not yet written the caBundle of MutatingWebhookConfiguration %s"
            .formatted(config.name());
    return new TlsState(
        trusted(webhook).getFirst(),
        webhookPair,
        extenderPair.certificate(),
        store.hasBundles() ? Optional.empty() : Optional.of(missing));
  }

  private TlsKeyPair pair(StoredSecret secret) {
    return secret
        .pair()
        .filter(TlsKeyPair::keyMatches)
        .orElseThrow(
            () ->
                without(
                    secret,
                    "matching, readable tls.crt and tls.key (ECDSA, PKCS #8)",
                    "cert-manager writes it, see its Certificate " + secret.name()));
  }

  private List<X509Certificate> trusted(StoredSecret secret) {
    List<X509Certificate> authorities = Certificates.parse(secret.text(TlsStore.BUNDLE_KEY));
    if (authorities.isEmpty()) {
      throw without(
          secret,
          TlsStore.BUNDLE_KEY,
          "the issuer must be one that provides its CA, such as a CA issuer");
    }
    return authorities;
  }

  private IllegalStateException without(StoredSecret secret, String content, String remedy) {
    return new IllegalStateException(
        SecretErrors.without(config.namespace(), secret.name(), content, remedy));
  }

  private void publish(List<X509Certificate> newest) {
    Instant now = clock.instant();
    Stream<X509Certificate> former =
        store.bundle().stream()
            .filter(c -> !newest.contains(c) && !Certificates.expired(c, now))
            .limit(FORMER_MAX);
    store.writeBundle(Certificates.pem(Stream.concat(newest.stream(), former).toList()));
  }
}
