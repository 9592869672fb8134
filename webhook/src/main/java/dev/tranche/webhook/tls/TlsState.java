package dev.tranche.webhook.tls;

import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;

/**
 * The TLS state of the cluster after a reconciliation.
 *
 * @param trusted the authorities in the caBundle; the first one signs
 * @param webhook the key pair that this process serves with
 * @param missing a sentence that says why the API server cannot verify it yet; empty once it can
 */
public record TlsState(
    List<X509Certificate> trusted,
    TlsKeyPair webhook,
    X509Certificate extender,
    Optional<String> missing) {
  public X509Certificate authority() {
    return trusted.getFirst();
  }

  /** Whether the API server accepts this pair by the caBundle. */
  public boolean verifies(TlsKeyPair pair) {
    return missing.isEmpty()
        && pair.chain().stream()
            .anyMatch(c -> trusted.stream().anyMatch(a -> Certificates.signedBy(c, a)));
  }
}
