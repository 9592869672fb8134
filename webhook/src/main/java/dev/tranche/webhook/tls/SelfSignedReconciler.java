package dev.tranche.webhook.tls;

import dev.tranche.process.client.SecretErrors;
import dev.tranche.webhook.tls.TlsStore.StoredSecret;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reconciles the certificates that the webhook issues itself. Reads what the cluster has, makes
 * what is missing or due, and returns the resulting state. Any number of replicas may do this at
 * the same time; one that meets a conflict starts again.
 */
record SelfSignedReconciler(TlsStore store, TlsConfig config, InstantSource clock) {
  private static final int ATTEMPTS_MAX = 5;
  private static final Logger LOG = LoggerFactory.getLogger(SelfSignedReconciler.class);

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

  /**
   * Before a CA gets a successor, it renews what it has signed. So nothing that the successor has
   * signed is served until every bundle has had time to arrive: it is published at once.
   */
  private TlsState attempt(Instant now) {
    StoredSecret stored = store.read(config.authoritySecret());
    Optional<TlsKeyPair> known =
        usable(stored).filter(ca -> !Certificates.expired(ca.certificate(), now));
    if (known.isPresent() && !known.get().isDue(now)) {
      return publish(known.get(), now);
    }
    known.ifPresent(due -> new Leaves(due, now, true).ensureAll());
    TlsKeyPair successor = new Issuer(now).authority(config.name() + "-ca", config.authorityLife());
    Stream<X509Certificate> before =
        known.stream()
            .flatMap(ca -> ca.chain().stream())
            .filter(ca -> !Certificates.expired(ca, now));
    var authority =
        new TlsKeyPair(Stream.concat(successor.chain().stream(), before).toList(), successor.key());
    store.writeAuthority(stored, authority);
    LOG.info(
        "a new CA signs, beside {} that are trusted: {}", authority.chain().size() - 1, authority);
    return publish(authority, now);
  }

  /** The bundle is published before any server uses a certificate that the newest CA signed. */
  private TlsState publish(TlsKeyPair authority, Instant now) {
    store.writeBundle(authority.certificatePem());
    boolean configured = store.patchConfiguration(authority.certificatePem());
    List<TlsKeyPair> servers = new Leaves(authority, now, false).ensureAll();
    String missing = "there is no MutatingWebhookConfiguration %s yet".formatted(config.name());
    return new TlsState(
        authority.certificate(),
        servers.getFirst(),
        servers.getLast().certificate(),
        configured ? Optional.empty() : Optional.of(missing));
  }

  /**
   * Returns the CA of the Secret; empty if that is.
   *
   * @throws IllegalStateException if it cannot sign. What a wrong key signed would verify nowhere,
   *     and would be made anew each time
   */
  private Optional<TlsKeyPair> usable(StoredSecret stored) {
    // If it were deleted, we could not create it again.
    String emptying =
        "kubectl -n %s patch secret %s --type=json -p '[{\"op\":\"remove\",\"path\":\"/data\"}]'"
            .formatted(config.namespace(), stored.name());
    Optional<TlsKeyPair> authority = stored.authority().filter(TlsKeyPair::keyMatches);
    if (!stored.isEmpty() && authority.isEmpty()) {
      throw new IllegalStateException(
          SecretErrors.without(
              config.namespace(),
              stored.name(),
              "valid CA (ca.crt, and its key in ca.key as PKCS #8 on an elliptic curve, PEM)",
              "restore both, or empty it with %s, and the webhook creates a new one"
                  .formatted(emptying)));
    }
    return authority;
  }

  /** Keeps the certificates that the CA signs. */
  private final class Leaves {
    private final TlsKeyPair authority;
    private final Instant now;
    private final boolean beforeSuccessor;

    /**
     * @param beforeSuccessor whether all are renewed, since the CA is about to get a successor
     */
    Leaves(TlsKeyPair authority, Instant now, boolean beforeSuccessor) {
      this.authority = authority;
      this.now = now;
      this.beforeSuccessor = beforeSuccessor;
    }

    /** Returns those of the webhook and of the extender. */
    List<TlsKeyPair> ensureAll() {
      if (config.schedulerClient()) {
        // Somebody copies it to where kube-scheduler runs, so it lasts as long as its authority.
        ensure(
            config.schedulerClientSecret(),
            KeyPurposeId.id_kp_clientAuth,
            List.of(config.schedulerClientName()),
            config.authorityLife());
      }
      return List.of(
          server(config.webhookSecret(), config.webhookDnsNames()),
          server(config.extenderSecret(), config.extenderDnsNames()));
    }

    private TlsKeyPair server(String secret, List<String> dnsNames) {
      return ensure(secret, KeyPurposeId.id_kp_serverAuth, dnsNames, config.servingLife());
    }

    private TlsKeyPair ensure(
        String secret, KeyPurposeId purpose, List<String> dnsNames, Duration lifeMax) {
      StoredSecret stored = store.read(secret);
      String bundle = authority.certificatePem();
      Optional<TlsKeyPair> before = stored.pair();
      Optional<String> reason =
          before.isEmpty()
              ? Optional.of("there is no readable one")
              : beforeSuccessor
                  ? Optional.of("its CA gets a successor")
                  : before.get().replacedBecause(authority.chain(), dnsNames, now);
      if (reason.isEmpty() && stored.text(TlsStore.BUNDLE_KEY).equals(bundle)) {
        return before.orElseThrow();
      }
      TlsKeyPair current =
          reason.isEmpty() ? before.orElseThrow() : issue(purpose, dnsNames, lifeMax);
      store.write(stored, current, bundle);
      LOG.info(
          "wrote Secret {}: {}{}", secret, current, reason.map("; before, "::concat).orElse(""));
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
