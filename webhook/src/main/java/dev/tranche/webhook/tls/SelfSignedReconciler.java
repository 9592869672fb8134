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
import org.bouncycastle.asn1.x509.KeyPurposeId;
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
  private final TlsConfig config;
  private final InstantSource clock;

  SelfSignedReconciler(TlsStore store, TlsConfig config, InstantSource clock) {
    this.store = store;
    this.config = config;
    this.clock = clock;
  }

  TlsState reconcile() {
    for (int attempt = 1; ; attempt++) {
      try {
        return attempt(clock.instant());
      } catch (KubernetesClientException e) {
        if (e.getCode() != HttpURLConnection.HTTP_CONFLICT || attempt == ATTEMPTS_MAX) {
          throw e;
        }
      }
    }
  }

  private TlsState attempt(Instant now) {
    StoredSecret stored = store.read(config.authoritySecret());
    Optional<CertificateAuthorities> before = usable(stored);
    CertificateAuthorities authorities = current(before, now);
    if (!before.equals(Optional.of(authorities))) {
      stored = store.write(stored, authorities);
      LOG.info(
          "certificate authorities: {} signs; trusted: {}",
          authorities.signing(),
          authorities.trusted().stream().map(c -> c.getSubjectX500Principal().getName()).toList());
    }
    String bundle = Certificates.pem(authorities.trusted());
    // The bundle is published before any server uses a certificate that the newest CA signed.
    store.writeBundle(bundle);
    boolean configured = store.patchConfiguration(bundle);
    var leaves = new Leaves(authorities.signing(), bundle, now);
    TlsKeyPair webhook = leaves.server(config.webhookSecret(), config.webhookDnsNames());
    TlsKeyPair extender = leaves.server(config.extenderSecret(), config.extenderDnsNames());
    if (config.schedulerClient()) {
      leaves.schedulerClient();
    }
    if (authorities.unpublished()) {
      store.write(stored, authorities.published(now));
    }
    String missing = "there is no MutatingWebhookConfiguration %s yet".formatted(config.name());
    return new TlsState(
        authorities.trusted(),
        webhook,
        extender.certificate(),
        configured ? Optional.empty() : Optional.of(missing));
  }

  /**
   * Returns the authorities of the Secret; empty if it is.
   *
   * @throws IllegalStateException if they cannot sign. What a wrong key signed would verify
   *     nowhere, and would be made anew each time
   */
  private Optional<CertificateAuthorities> usable(StoredSecret stored) {
    // If it were deleted, we could not create it again.
    String emptying =
        "kubectl -n %s patch secret %s --type=json -p '[{\"op\":\"remove\",\"path\":\"/data\"}]'"
            .formatted(config.namespace(), stored.name());
    Optional<CertificateAuthorities> authorities = stored.authorities();
    if (!stored.isEmpty() && authorities.isEmpty()) {
      throw new IllegalStateException(
          SecretErrors.without(
              config.namespace(),
              stored.name(),
              "valid CA (ca.crt, and ca.key as PKCS #8 on an elliptic curve, PEM)",
              "empty it with %s, and the webhook creates a new one".formatted(emptying)));
    }
    if (authorities.isPresent() && !authorities.get().signing().keyMatches()) {
      throw new IllegalStateException(
          "Secret %s/%s: ca.key is not the key of the certificate in ca.crt, so nothing can be signed; restore both, or empty the Secret with %s, and the webhook creates new ones"
              .formatted(config.namespace(), stored.name(), emptying));
    }
    return authorities;
  }

  private CertificateAuthorities current(Optional<CertificateAuthorities> before, Instant now) {
    Duration overlap = CertificateAuthorities.overlap(config.authorityLife());
    return before
        .map(b -> b.at(now, overlap, () -> createAuthority(now)))
        .orElseGet(() -> CertificateAuthorities.first(createAuthority(now)));
  }

  private TlsKeyPair createAuthority(Instant now) {
    return new Issuer(now).authority(config.name() + "-ca", config.authorityLife());
  }

  /** Keeps the certificates that the CA signs. */
  private final class Leaves {
    private final TlsKeyPair authority;
    private final String bundle;
    private final Instant now;

    Leaves(TlsKeyPair authority, String bundle, Instant now) {
      this.authority = authority;
      this.bundle = bundle;
      this.now = now;
    }

    TlsKeyPair server(String secret, List<String> dnsNames) {
      return ensure(secret, KeyPurposeId.id_kp_serverAuth, dnsNames, config.servingLife());
    }

    /** Somebody copies it to where kube-scheduler runs, so it lasts as long as its authority. */
    void schedulerClient() {
      ensure(
          config.schedulerClientSecret(),
          KeyPurposeId.id_kp_clientAuth,
          List.of(config.schedulerClientName()),
          config.authorityLife());
    }

    private TlsKeyPair ensure(
        String secret, KeyPurposeId purpose, List<String> dnsNames, Duration lifeMax) {
      StoredSecret stored = store.read(secret);
      Optional<TlsKeyPair> before = stored.pair();
      String reason =
          before
              .map(p -> p.replacedBecause(authority.certificate(), dnsNames, now).orElse(""))
              .orElse("there is no readable one");
      if (reason.isEmpty() && stored.text(TlsStore.BUNDLE_KEY).equals(bundle)) {
        return before.orElseThrow();
      }
      TlsKeyPair current =
          reason.isEmpty() ? before.orElseThrow() : issue(purpose, dnsNames, lifeMax);
      store.write(stored, current, bundle);
      LOG.info(
          "wrote Secret {}: {}{}", secret, current, reason.isEmpty() ? "" : "; before, " + reason);
      return current;
    }

    /** Nothing is valid for longer than it can be verified. */
    private TlsKeyPair issue(KeyPurposeId purpose, List<String> dnsNames, Duration lifeMax) {
      Duration left = Duration.between(now, authority.expiry());
      Duration life = left.compareTo(lifeMax) < 0 ? left : lifeMax;
      return new Issuer(now).issue(authority, purpose, dnsNames, life);
    }
  }
}
