package dev.tranche.webhook;

import dev.tranche.process.ops.Probe;
import dev.tranche.webhook.tls.TlsKeyPair;
import dev.tranche.webhook.tls.TlsState;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether the API server may send reviews here. The webhook must know the nodes, and must
 * serve with a certificate that the patched caBundle verifies.
 */
final class Readiness {
  private final Supplier<Optional<String>> cluster;
  private final InstantSource clock;
  private volatile @Nullable TlsState tlsState;
  private volatile String failure = "";
  private volatile boolean draining;

  /**
   * @param cluster returns a sentence that says what is not known of the cluster yet; empty if
   *     nothing
   */
  Readiness(Supplier<Optional<String>> cluster, InstantSource clock) {
    this.cluster = cluster;
    this.clock = clock;
  }

  /**
   * @param state whose certificate the webhook serves with
   */
  void reconciled(TlsState state) {
    tlsState = state;
    failure = "";
  }

  void reconcileFailed(String reason) {
    failure = reason;
  }

  void draining() {
    draining = true;
  }

  Probe probe() {
    return Probe.readyUnless(missing().map("not ready: "::concat));
  }

  Optional<TlsState> tlsState() {
    return Optional.ofNullable(tlsState);
  }

  /**
   * Returns a sentence that says what is missing; empty if ready. A failed reconciliation does not
   * invalidate the last successful one.
   */
  Optional<String> missing() {
    if (draining) {
      return Optional.of("shutting down");
    }
    TlsState state = tlsState;
    if (state == null) {
      return Optional.of(failure.isEmpty() ? "there is no certificate yet" : failure);
    }
    if (state.missing().isPresent()) {
      return state.missing();
    }
    TlsKeyPair pair = state.webhook();
    if (!clock.instant().isBefore(pair.expiry())) {
      return Optional.of(
          "the serving certificate expired %s%s"
              .formatted(pair.expiry(), failure.isEmpty() ? "" : "; " + failure));
    }
    return cluster.get();
  }
}
