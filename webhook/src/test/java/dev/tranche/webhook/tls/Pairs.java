package dev.tranche.webhook.tls;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Certificates for servers in tests. */
public final class Pairs {
  private Pairs() {}

  public static Pair serving(String dnsName) {
    Instant now = Instant.now();
    Pair authority = Authority.create("test", now, Duration.ofDays(1));
    return Authority.issue(
        authority, Authority.Use.SERVER, List.of(dnsName), now, Duration.ofDays(1));
  }
}
