package dev.tranche.webhook.tls;

import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The CA that signs, and the CAs to trust. CAs are rotated so that every bundle always verifies
 * every served certificate. After two thirds of its life, a CA gets a successor. The successor is
 * trusted at once, but signs only when every bundle has had time to arrive. The former CA stays
 * trusted until it expires.
 *
 * @param former the previous CA, until it expires
 */
record CertificateAuthorities(
    TlsKeyPair signing, Optional<Successor> successor, Optional<X509Certificate> former) {
  /** The kubelet brings a changed ConfigMap to its pods in a minute or two. */
  private static final Duration OVERLAP_MAX = Duration.ofHours(1);

  /**
   * @param published since when all bundles contain it; empty until they have been written
   */
  record Successor(TlsKeyPair pair, Optional<Instant> published) {}

  static CertificateAuthorities first(TlsKeyPair pair) {
    return new CertificateAuthorities(pair, Optional.empty(), Optional.empty());
  }

  /** Returns the time from a successor's publication until it signs. */
  static Duration overlap(Duration authorityLife) {
    Duration tenth = authorityLife.dividedBy(10);
    return tenth.compareTo(OVERLAP_MAX) > 0 ? OVERLAP_MAX : tenth;
  }

  /** Returns the authorities as of now, equal to these if nothing is due. */
  CertificateAuthorities at(Instant now, Duration overlap, Supplier<TlsKeyPair> create) {
    Optional<X509Certificate> trusted =
        former.filter(f -> now.isBefore(f.getNotAfter().toInstant()));
    if (!now.isBefore(signing.expiry())) {
      // The signing CA expired without a rotation: there is no overlap left to wait for.
      return first(
          successor.map(Successor::pair).filter(p -> now.isBefore(p.expiry())).orElseGet(create));
    }
    if (successor.isPresent()) {
      boolean arrived =
          successor.get().published().filter(p -> !now.isBefore(p.plus(overlap))).isPresent();
      return arrived
          ? new CertificateAuthorities(
              successor.get().pair(), Optional.empty(), Optional.of(signing.certificate()))
          : new CertificateAuthorities(signing, successor, trusted);
    }
    Optional<Successor> created =
        now.isBefore(Renewal.due(signing.certificate()))
            ? Optional.empty()
            : Optional.of(new Successor(create.get(), Optional.empty()));
    return new CertificateAuthorities(signing, created, trusted);
  }

  /** Whether the successor is not yet recorded as published. */
  boolean unpublished() {
    return successor.filter(s -> s.published().isEmpty()).isPresent();
  }

  CertificateAuthorities published(Instant now) {
    return new CertificateAuthorities(
        signing, successor.map(s -> new Successor(s.pair(), Optional.of(now))), former);
  }

  List<X509Certificate> trusted() {
    return Stream.of(
            Stream.of(signing.certificate()),
            successor.map(s -> s.pair().certificate()).stream(),
            former.stream())
        .flatMap(one -> one)
        .toList();
  }

  /** Returns the trusted certificates as PEM, one after the other. */
  String bundle() {
    return trusted().stream().map(Pem::certificate).collect(Collectors.joining());
  }
}
