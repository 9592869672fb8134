package dev.tranche.webhook;

import dev.tranche.webhook.tls.TlsKeyPair;
import dev.tranche.webhook.tls.TlsState;
import java.time.InstantSource;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether the API server may send reviews here: it knows the nodes, it serves, and the patched
 * caBundle verifies what it serves with.
 */
final class Readiness {
  private final Supplier<Optional<String>> cluster;
  private final InstantSource clock;
  private volatile @Nullable TlsState kept;
  private volatile @Nullable TlsKeyPair served;
  private volatile String failure = "";
  private volatile boolean draining;

  /**
   * @param cluster what is not known of it yet, a sentence
   */
  Readiness(Supplier<Optional<String>> cluster, InstantSource clock) {
    this.cluster = cluster;
    this.clock = clock;
  }

  void kept(TlsState state) {
    kept = state;
    failure = "";
  }

  void keepingFailed(String reason) {
    failure = reason;
  }

  void serving(TlsKeyPair pair) {
    served = pair;
  }

  void draining() {
    draining = true;
  }

  Optional<TlsState> kept() {
    return Optional.ofNullable(kept);
  }

  /** What is missing, a sentence; a round that failed once does not spoil what the last one saw. */
  Optional<String> missing() {
    if (draining) {
      return Optional.of("shutting down");
    }
    TlsState state = kept;
    if (state == null) {
      return Optional.of(failure.isEmpty() ? "there is no certificate yet" : failure);
    }
    if (state.missing().isPresent()) {
      return state.missing();
    }
    TlsKeyPair pair = served;
    if (pair == null || !state.verifies(pair)) {
      return Optional.of("not yet serving with a certificate that the caBundle verifies");
    }
    if (!clock.instant().isBefore(pair.expiry())) {
      return Optional.of(
          "the certificate that is served ended %s%s"
              .formatted(pair.expiry(), failure.isEmpty() ? "" : "; " + failure));
    }
    return cluster.get();
  }
}
