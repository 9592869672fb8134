package dev.tranche.webhook.tls;

import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The CA that signs, and the CAs to trust. CAs are rotated so that every bundle always verifies
 * every served certificate. After two thirds of its life, a CA gets a successor. The successor is
 * trusted at once, but signs only when every bundle has had time to arrive. The former CA stays
 * trusted until it expires.
 *
 * @param successor the next CA, once this one is due
 * @param published since when all bundles contain the successor; empty until they have been written
 * @param former the previous CA, until it expires
 */
record CertificateAuthorities(
    TlsKeyPair signing,
    Optional<TlsKeyPair> successor,
    Optional<Instant> published,
    Optional<X509Certificate> former) {
  /** The kubelet brings a changed ConfigMap to its pods in a minute or two. */
  private static final Duration OVERLAP_MAX = Duration.ofHours(1);

  CertificateAuthorities {
    published = successor.isEmpty() ? Optional.empty() : published;
  }

  static CertificateAuthorities first(TlsKeyPair pair) {
    return new CertificateAuthorities(pair, Optional.empty(), Optional.empty(), Optional.empty());
  }

  /** Returns the time from a successor's publication until it signs. */
  static Duration overlap(Duration authorityLife) {
    Duration tenth = authorityLife.dividedBy(10);
    return tenth.compareTo(OVERLAP_MAX) > 0 ? OVERLAP_MAX : tenth;
  }

  /** Returns the authorities as of now, equal to these if nothing is due. */
  CertificateAuthorities at(Instant now, Duration overlap, Supplier<TlsKeyPair> create) {
    if (Certificates.expired(signing.certificate(), now)) {
      // It expired without a rotation: there is no overlap left to wait for.
      return first(
          successor.filter(s -> !Certificates.expired(s.certificate(), now)).orElseGet(create));
    }
    if (successor.isPresent()
        && published.filter(p -> !now.isBefore(p.plus(overlap))).isPresent()) {
      return new CertificateAuthorities(
          successor.get(), Optional.empty(), Optional.empty(), Optional.of(signing.certificate()));
    }
    boolean due = !now.isBefore(Certificates.due(signing.certificate()));
    return new CertificateAuthorities(
        signing,
        due ? successor.or(() -> Optional.of(create.get())) : successor,
        published,
        former.filter(f -> !Certificates.expired(f, now)));
  }

  /** Whether the successor is not yet recorded as published. */
  boolean unpublished() {
    return successor.isPresent() && published.isEmpty();
  }

  CertificateAuthorities published(Instant now) {
    return new CertificateAuthorities(signing, successor, Optional.of(now), former);
  }

  List<X509Certificate> trusted() {
    return Stream.of(
            Stream.of(signing.certificate()),
            successor.map(TlsKeyPair::certificate).stream(),
            former.stream())
        .flatMap(one -> one)
        .toList();
  }
}
