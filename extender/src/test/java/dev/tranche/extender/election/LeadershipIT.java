package dev.tranche.extender.election;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.election.LeaseElection.Moment;
import io.fabric8.kubernetes.api.model.coordination.v1.LeaseSpec;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.server.mock.EnableKubernetesMockClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

@EnableKubernetesMockClient(crud = true)
@SuppressWarnings("NullAway.Init") // The mock server's extension sets the client.
final class LeadershipIT {
  private static final String NAMESPACE = "gpu";
  private static final String NAME = "tranche-extender";
  KubernetesClient client;
  private final Thread here = Thread.currentThread();

  private final AtomicLong renewsAtS = new AtomicLong();
  private final AtomicLong monotonicS = new AtomicLong();
  private final AtomicLong wallS = new AtomicLong();
  private final List<Leadership> started = new ArrayList<>();

  @AfterEach
  void stop() {
    started.forEach(Leadership::stop);
  }

  private Leadership leadership(String identity, Runnable onLost) {
    var leadership =
        new Leadership(
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
    leadership.start();
    started.add(leadership);
    return leadership;
  }

  private Moment now() {
    if (!here.equals(Thread.currentThread())) {
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
    var leadership = leadership("extender-1", () -> {});
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

  @Test
  void leaderThatStops_keepsTheLease_untilItIsReleased() throws Exception {
    var lost = new AtomicInteger();
    var leadership = leadership("extender-1", lost::incrementAndGet);
    until(() -> leadership.missing().isEmpty());
    leadership.stop();
    assertThat(leadership.missing()).isPresent();
    assertThat(lost).hasValue(1);
    assertThat(spec().getHolderIdentity()).isEqualTo("extender-1");
    leadership.release();
    assertThat(spec().getHolderIdentity()).isEmpty();
    var next = leadership("extender-2", () -> {});
    until(() -> next.missing().isEmpty());
    leadership.release();
    assertThat(spec().getHolderIdentity()).isEqualTo("extender-2");
  }

  private LeaseSpec spec() {
    return client.leases().inNamespace(NAMESPACE).withName(NAME).get().getSpec();
  }
}
