package dev.tranche.webhook.tls;

import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What the cluster holds after a round of keeping.
 *
 * @param trusted the authorities that the caBundle holds; the first signs
 * @param webhook what this process serves with
 * @param missing why the API server cannot verify it yet, a sentence; empty when it can
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
    return missing.isEmpty() && trusted(pair);
  }

  /** Each intermediate is followed once at most. */
  private boolean trusted(TlsKeyPair pair) {
    X509Certificate current = pair.certificate();
    var ahead = new ArrayList<>(pair.intermediates());
    while (true) {
      X509Certificate signed = current;
      if (trusted.stream().anyMatch(a -> Renewal.signedBy(signed, a))) {
        return true;
      }
      Optional<X509Certificate> next =
          ahead.stream().filter(i -> Renewal.signedBy(signed, i)).findFirst();
      if (next.isEmpty()) {
        return false;
      }
      current = next.get();
      ahead.remove(current);
    }
  }
}
