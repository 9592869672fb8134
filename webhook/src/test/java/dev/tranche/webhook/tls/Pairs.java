package dev.tranche.webhook.tls;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Certificates for servers in tests. */
public final class Pairs {
  private Pairs() {}

  public static TlsKeyPair serving(String dnsName) {
    return signedBy(authority(), dnsName);
  }

  public static TlsKeyPair authority() {
    return CertificateAuthority.create("test", Instant.now(), Duration.ofDays(1));
  }

  public static TlsKeyPair signedBy(TlsKeyPair authority, String dnsName) {
    return CertificateAuthority.issue(
        authority,
        CertificateAuthority.Use.SERVER,
        List.of(dnsName),
        Instant.now(),
        Duration.ofDays(1));
  }
}
