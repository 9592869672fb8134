package dev.tranche.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.webhook.tls.Pairs;
import dev.tranche.webhook.tls.TlsKeyPair;
import dev.tranche.webhook.tls.TlsState;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class ReadinessTest {
  private final TlsKeyPair authority = Pairs.authority();
  private final TlsKeyPair serving = Pairs.signedBy(authority, "tranche-webhook.ns.svc");
  private final AtomicReference<Instant> now = new AtomicReference<>(Instant.now());
  private final Readiness readiness = new Readiness(Optional::empty, now::get);

  @Test
  void certificateThatHasEnded_isNotReady_andSaysWhy() {
    readiness.reconciled(
        new TlsState(authority.certificate(), serving, serving.certificate(), Optional.empty()));
    assertThat(readiness.missing()).isEmpty();

    readiness.reconcileFailed("the API server cannot be reached");
    assertThat(readiness.missing()).isEmpty();
    now.set(serving.expiry());
    assertThat(readiness.missing().orElse(""))
        .contains("expired " + serving.expiry())
        .contains("the API server cannot be reached");
  }
}
