package dev.tranche.webhook.tls;

import dev.tranche.process.client.SecretErrors;
import dev.tranche.webhook.tls.TlsStore.StoredSecret;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reconciles the certificates that the webhook issues itself. Reads what the cluster has, makes
 * what is missing or due, and returns the resulting state. Any number of replicas may do this at
 * the same time; one that meets a conflict starts again.
 */
final class SelfSignedReconciler {
  private static final int ATTEMPTS_MAX = 5;
  private static final Logger LOG = LoggerFactory.getLogger(SelfSignedReconciler.class);

  private final TlsStore store;
  private final TlsNames names;
  private final CertificateController.CertificateOptions options;
  private final InstantSource clock;

  SelfSignedReconciler(
      TlsStore store,
      TlsNames names,
      CertificateController.CertificateOptions options,
      InstantSource clock) {
    this.store = store;
    this.names = names;
    this.options = options;
    this.clock = clock;
  }

  TlsState reconcile() {
    for (int attempt = 1; ; attempt++) {
      try {
        return attempt();
      } catch (KubernetesClientException e) {
        if (e.getCode() != HttpURLConnection.HTTP_CONFLICT || attempt == ATTEMPTS_MAX) {
          throw e;
        }
      }
    }
  }

  private TlsState attempt() {
    Instant now = clock.instant();
    StoredAuthorities stored = ensureAuthorities(now);
    CertificateAuthorities authorities = stored.authorities();
    TlsKeyPair signing = authorities.signing();
    String bundle = authorities.bundle();
    // The bundle is published before any server uses a certificate that the newest CA signed.
    store.writeBundle(bundle);
    boolean configured = store.patchConfiguration(bundle);
    TlsKeyPair webhook =
        ensureServingPair(names.webhookSecret(), names.webhookDnsNames(), signing, bundle, now);
    TlsKeyPair extender =
        ensureServingPair(names.extenderSecret(), names.extenderDnsNames(), signing, bundle, now);
    if (options.schedulerClient()) {
      ensureSchedulerClientPair(signing, bundle, now);
    }
    if (authorities.unpublished()) {
      store.writeAuthorities(stored.secret(), authorities.published(now));
    }
    return new TlsState(
        authorities.trusted(),
        webhook,
        extender.certificate(),
        configured
            ? Optional.empty()
            : Optional.of(
                "there is no MutatingWebhookConfiguration %s yet"
                    .formatted(names.configuration())));
  }

  /**
   * @param secret the Secret of the authorities as it was read, so that a later change causes a
   *     conflict
   */
  private record StoredAuthorities(StoredSecret secret, CertificateAuthorities authorities) {}

  private StoredAuthorities ensureAuthorities(Instant now) {
    StoredSecret stored = store.authoritySecret();
    Optional<CertificateAuthorities> before = store.authorities(stored);
    if (!stored.isEmpty() && before.isEmpty()) {
      throw new IllegalStateException(
          SecretErrors.without(
              names.namespace(),
              names.authoritySecret(),
              "valid CA (ca.crt, and ca.key as PKCS #8 on an elliptic curve, PEM)",
              "empty it with %s, and the webhook creates a new one".formatted(emptyingCommand())));
    }
    if (before.isPresent() && !Renewal.keyMatches(before.get().signing())) {
      // What it signed would verify nowhere, and would be made anew each time.
      throw new IllegalStateException(
          "Secret %s/%s: ca.key is not the key of the certificate in ca.crt, so nothing can be signed; restore both, or empty the Secret with %s, and the webhook creates new ones"
              .formatted(names.namespace(), names.authoritySecret(), emptyingCommand()));
    }
    CertificateAuthorities current =
        before
            .map(
                b ->
                    b.at(
                        now,
                        CertificateAuthorities.overlap(options.authorityLife()),
                        () -> createAuthority(now)))
            .orElseGet(() -> CertificateAuthorities.first(createAuthority(now)));
    if (!before.equals(Optional.of(current))) {
      stored = store.writeAuthorities(stored, current);
      LOG.info(
          "certificate authorities: {} signs; trusted: {}",
          current.signing(),
          current.trusted().stream().map(c -> c.getSubjectX500Principal().getName()).toList());
    }
    return new StoredAuthorities(stored, current);
  }

  /**
   * Returns the command that empties the Secret. If it were deleted, we could not create it again.
   */
  private String emptyingCommand() {
    return "kubectl -n %s patch secret %s --type=json -p '[{\"op\":\"remove\",\"path\":\"/data\"}]'"
        .formatted(names.namespace(), names.authoritySecret());
  }

  private TlsKeyPair createAuthority(Instant now) {
    return CertificateAuthority.create(names.name() + "-ca", now, options.authorityLife());
  }

  private TlsKeyPair ensureServingPair(
      String secret, List<String> dnsNames, TlsKeyPair authority, String bundle, Instant now) {
    Duration left = Duration.between(now, authority.expiry());
    // Nothing is served for longer than it can be verified.
    Duration life = left.compareTo(options.servingLife()) < 0 ? left : options.servingLife();
    return ensurePair(
        secret, CertificateAuthority.Use.SERVER, dnsNames, authority, life, bundle, now);
  }

  /**
   * Issues the client certificate of kube-scheduler. Somebody copies it to where kube-scheduler
   * runs, so it lasts as long as its authority.
   */
  private void ensureSchedulerClientPair(TlsKeyPair authority, String bundle, Instant now) {
    ensurePair(
        names.schedulerClientSecret(),
        CertificateAuthority.Use.CLIENT,
        List.of(names.schedulerClient()),
        authority,
        Duration.between(now, authority.expiry()),
        bundle,
        now);
  }

  private TlsKeyPair ensurePair(
      String secret,
      CertificateAuthority.Use use,
      List<String> dnsNames,
      TlsKeyPair authority,
      Duration life,
      String bundle,
      Instant now) {
    StoredSecret stored = store.read(secret);
    Optional<TlsKeyPair> pair = stored.pair("tls.crt", "tls.key");
    String reason =
        pair.map(p -> Renewal.reason(p, authority.certificate(), dnsNames, now).orElse(""))
            .orElse("there is no readable one");
    if (reason.isEmpty() && pair.isPresent() && stored.text(TlsStore.BUNDLE_KEY).equals(bundle)) {
      return pair.get();
    }
    TlsKeyPair current =
        reason.isEmpty() && pair.isPresent()
            ? pair.get()
            : CertificateAuthority.issue(authority, use, dnsNames, now, life);
    store.writePair(secret, stored, current, bundle);
    LOG.info(
        "wrote Secret {}: {}{}", secret, current, reason.isEmpty() ? "" : "; before, " + reason);
    return current;
  }
}
