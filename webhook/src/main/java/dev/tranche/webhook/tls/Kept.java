package dev.tranche.webhook.tls;

import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Optional;

/**
 * What the cluster holds after a round of keeping.
 *
 * @param authority that the caBundle holds
 * @param webhook what this process serves with
 * @param missing why the API server cannot verify it yet, a sentence; empty when it can
 */
public record Kept(
    X509Certificate authority, Pair webhook, Instant extenderExpiry, Optional<String> missing) {
  public Instant authorityExpiry() {
    return authority.getNotAfter().toInstant();
  }

  /** Whether the API server accepts this pair by the caBundle. */
  public boolean verifies(Pair pair) {
    return missing.isEmpty() && Renewal.signedBy(pair.certificate(), authority);
  }
}
