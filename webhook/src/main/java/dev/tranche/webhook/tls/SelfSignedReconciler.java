package dev.tranche.webhook.tls;

import dev.tranche.webhook.tls.TlsStore.Held;
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
 * One round of keeping: reads what the cluster holds, makes what is missing or due, and tells what
 * there is now. Any number of replicas may do this at once; the loser of a race reads again.
 */
final class SelfSignedReconciler {
  private static final int ATTEMPTS_MAX = 5;
  private static final Logger LOG = LoggerFactory.getLogger(SelfSignedReconciler.class);

  private final TlsStore store;
  private final TlsNames names;
  private final CertificateController.Making making;
  private final InstantSource clock;

  SelfSignedReconciler(
      TlsStore store, TlsNames names, CertificateController.Making making, InstantSource clock) {
    this.store = store;
    this.names = names;
    this.making = making;
    this.clock = clock;
  }

  TlsState keep() {
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
    Standing standing = standing(now);
    CertificateAuthorities authorities = standing.authorities();
    TlsKeyPair signing = authorities.signing();
    String bundle = authorities.bundle();
    // Whom to trust is published before anybody serves with what the newest has signed.
    store.writeBundle(bundle);
    boolean configured = store.patchConfiguration(bundle);
    TlsKeyPair webhook =
        serving(names.webhookSecret(), names.webhookDnsNames(), signing, bundle, now);
    TlsKeyPair extender =
        serving(names.extenderSecret(), names.extenderDnsNames(), signing, bundle, now);
    if (making.schedulerClient()) {
      schedulerClient(signing, bundle, now);
    }
    if (authorities.unpublished()) {
      store.writeAuthorities(standing.held(), authorities.published(now));
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
   * @param held the Secret that the authorities lie in, so that a change since is a conflict
   */
  private record Standing(Held held, CertificateAuthorities authorities) {}

  private Standing standing(Instant now) {
    Held held = store.authority();
    Optional<CertificateAuthorities> before = store.authorities(held);
    if (!held.empty() && before.isEmpty()) {
      throw new IllegalStateException(
          "Secret %s/%s holds no authority that can be read (ca.crt, and ca.key as PKCS #8 on an elliptic curve, PEM); empty it with %s, and a new one is made"
              .formatted(names.namespace(), names.authoritySecret(), emptying()));
    }
    if (before.isPresent() && !Renewal.fits(before.get().signing())) {
      // What it signed would verify nowhere, and would be made anew in every round.
      throw new IllegalStateException(
          "Secret %s/%s: ca.key is not the key of the certificate in ca.crt, so nothing can be signed; restore the two together, or empty the Secret with %s, and new ones are made"
              .formatted(names.namespace(), names.authoritySecret(), emptying()));
    }
    CertificateAuthorities current =
        before
            .map(
                b ->
                    b.at(
                        now,
                        CertificateAuthorities.overlap(making.authorityLife()),
                        () -> made(now)))
            .orElseGet(() -> CertificateAuthorities.first(made(now)));
    if (!before.equals(Optional.of(current))) {
      held = store.writeAuthorities(held, current);
      LOG.info(
          "certificate authorities: {} signs; trusted are {}",
          current.signing(),
          current.trusted().stream().map(c -> c.getSubjectX500Principal().getName()).toList());
    }
    return new Standing(held, current);
  }

  /** Deleted, it could not be made again: we may not create Secrets. */
  private String emptying() {
    return "kubectl -n %s patch secret %s --type=json -p '[{\"op\":\"remove\",\"path\":\"/data\"}]'"
        .formatted(names.namespace(), names.authoritySecret());
  }

  private TlsKeyPair made(Instant now) {
    return CertificateAuthority.create(names.name() + "-ca", now, making.authorityLife());
  }

  private TlsKeyPair serving(
      String secret, List<String> dnsNames, TlsKeyPair authority, String bundle, Instant now) {
    Duration left = Duration.between(now, authority.expiry());
    // Nothing is served for longer than it can be verified.
    Duration life = left.compareTo(making.servingLife()) < 0 ? left : making.servingLife();
    return kept(secret, CertificateAuthority.Use.SERVER, dnsNames, authority, life, bundle, now);
  }

  /** Somebody copies it to where kube-scheduler runs, so it lasts as long as its authority. */
  private void schedulerClient(TlsKeyPair authority, String bundle, Instant now) {
    kept(
        names.schedulerClientSecret(),
        CertificateAuthority.Use.CLIENT,
        List.of(names.schedulerClient()),
        authority,
        Duration.between(now, authority.expiry()),
        bundle,
        now);
  }

  private TlsKeyPair kept(
      String secret,
      CertificateAuthority.Use use,
      List<String> dnsNames,
      TlsKeyPair authority,
      Duration life,
      String bundle,
      Instant now) {
    Held held = store.held(secret);
    Optional<TlsKeyPair> pair = held.pair("tls.crt", "tls.key");
    String reason =
        pair.map(p -> Renewal.reason(p, authority.certificate(), dnsNames, now).orElse(""))
            .orElse("there is none that can be read");
    if (reason.isEmpty() && pair.isPresent() && held.text(TlsStore.BUNDLE_KEY).equals(bundle)) {
      return pair.get();
    }
    TlsKeyPair made =
        reason.isEmpty() && pair.isPresent()
            ? pair.get()
            : CertificateAuthority.issue(authority, use, dnsNames, now, life);
    store.writePair(secret, held, made, bundle);
    LOG.info("wrote Secret {}: {}{}", secret, made, reason.isEmpty() ? "" : "; before, " + reason);
    return made;
  }
}
