package dev.tranche.webhook.tls;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Certificates for servers in tests. */
public final class Pairs {
  private Pairs() {}

  public static Pair serving(String dnsName) {
    return signedBy(authority(), dnsName);
  }

  public static Pair authority() {
    return Authority.create("test", Instant.now(), Duration.ofDays(1));
  }

  public static Pair signedBy(Pair authority, String dnsName) {
    return Authority.issue(
        authority, Authority.Use.SERVER, List.of(dnsName), Instant.now(), Duration.ofDays(1));
  }
}
