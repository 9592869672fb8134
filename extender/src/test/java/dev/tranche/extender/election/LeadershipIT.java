package dev.tranche.extender.election;

import static dev.tranche.extender.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.election.LeaseElection.Moment;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseBuilder;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseSpec;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.server.mock.EnableKubernetesMockClient;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@EnableKubernetesMockClient(crud = true)
@SuppressWarnings("NullAway.Init") // The mock server's extension sets the client.
final class LeadershipIT {
  private static final String NAMESPACE = "gpu";
  private static final String NAME = "tranche-extender";
  KubernetesClient client;
  private final Thread here = Thread.currentThread();

  /** The election reads the clock once before it reads the Lease. */
  private final AtomicInteger turns = new AtomicInteger();

  private final AtomicLong renewsAtS = new AtomicLong();
  private final AtomicLong monotonicS = new AtomicLong();
  private final AtomicLong wallS = new AtomicLong();

  private Leadership leadership(String identity, Runnable onLost) {
    return new Leadership(
        client,
        new Leadership.Candidate(NAMESPACE, NAME, identity),
        new Leadership.Listener() {
          @Override
          public void lead() {}

          @Override
          public void retire() {
            onLost.run();
          }
        },
        this::now);
  }

  private Moment now() {
    if (!here.equals(Thread.currentThread())) {
      turns.incrementAndGet();
      return at(renewsAtS.get(), renewsAtS.get());
    }
    return at(monotonicS.get(), wallS.get());
  }

  private static Moment at(long monotonicS, long wallS) {
    return new Moment(
        Duration.ofSeconds(monotonicS).toNanos(), Duration.ofSeconds(wallS).toMillis());
  }

  /** Its process was frozen or its machine suspended, say, or its call for the Lease hangs. */
  @Test
  void leaderThatHasNotRenewedItsLease_doesNotTakeItselfForOne() throws Exception {
    try (var leadership = leadership("extender-1", () -> {})) {
      leadership.start();
      until(() -> leadership.missing().isEmpty());
      monotonicS.set(9);
      assertThat(leadership.missing()).isEmpty();
      monotonicS.set(10);
      assertThat(leadership.missing())
          .hasValue(
              "Lease gpu/tranche-extender was not renewed for 10 s, so another process may acquire"
                  + " it");
      monotonicS.set(0);
      wallS.set(10);
      assertThat(leadership.missing()).as("resumed").isPresent();
      renewsAtS.set(9);
      until(() -> leadership.missing().isEmpty());
      assertThat(leadership.term()).isEqualTo(1);
    }
  }

  @Test
  @Tag("slow")
  void leaseOfALeaderWhoseClockIsBehind_isNotTakenOver() throws Exception {
    renewedByAnother(Instant.now().minusSeconds(3_600));
    try (var leadership = leadership("extender-1", () -> {})) {
      leadership.start();
      until(() -> turns.get() >= 2);
      assertThat(leadership.missing())
          .hasValue("Lease gpu/tranche-extender is held by extender-2, not by this process");
      renewsAtS.set(14);
      int before = turns.get();
      until(() -> turns.get() >= before + 2);
      assertThat(spec().getHolderIdentity()).isEqualTo("extender-2");
      renewsAtS.set(15);
      until(() -> spec().getHolderIdentity().equals("extender-1"));
      assertThat(spec().getLeaseTransitions()).isEqualTo(4);
    }
  }

  @Test
  void leaderThatStops_keepsTheLease_untilItIsReleased() throws Exception {
    var lost = new AtomicInteger();
    var leadership = leadership("extender-1", lost::incrementAndGet);
    leadership.start();
    until(() -> leadership.missing().isEmpty());
    leadership.stop();
    assertThat(leadership.missing()).isPresent();
    assertThat(lost).hasValue(1);
    assertThat(spec().getHolderIdentity()).isEqualTo("extender-1");
    leadership.release();
    assertThat(spec().getHolderIdentity()).isEmpty();
    try (var next = leadership("extender-2", () -> {})) {
      next.start();
      until(() -> next.missing().isEmpty());
      leadership.release();
      assertThat(spec().getHolderIdentity()).isEqualTo("extender-2");
    }
  }

  private void renewedByAnother(Instant at) {
    client
        .resource(
            new LeaseBuilder()
                .withNewMetadata()
                .withNamespace(NAMESPACE)
                .withName(NAME)
                .endMetadata()
                .withNewSpec()
                .withHolderIdentity("extender-2")
                .withLeaseDurationSeconds(15)
                .withRenewTime(at.atZone(ZoneOffset.UTC))
                .withLeaseTransitions(3)
                .endSpec()
                .build())
        .create();
  }

  private LeaseSpec spec() {
    return client.leases().inNamespace(NAMESPACE).withName(NAME).get().getSpec();
  }
}
