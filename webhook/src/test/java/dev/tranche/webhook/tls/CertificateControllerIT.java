package dev.tranche.webhook.tls;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.server.mock.EnableKubernetesMockClient;
import io.vertx.core.Future;
import java.net.BindException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@EnableKubernetesMockClient(crud = true)
@SuppressWarnings("NullAway.Init") // set by the extension
class CertificateControllerIT {
  KubernetesClient client;

  /** A taken port fails the future with a checked exception, which await throws as it is. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @Tag("slow")
  void controller_goesOnAfterWhateverIsThrown(boolean checked) throws Exception {
    Pairs.createSecrets(client, "tranche-system");
    BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    var reconciliations = new AtomicInteger();
    try (var controller =
        controller(
            () -> {
              if (reconciliations.incrementAndGet() > 1) {
                return "kept";
              }
              if (checked) {
                Future.failedFuture(new BindException("the port is taken")).await();
              }
              throw new NoClassDefFoundError("a class is missing");
            },
            seen)) {
      controller.start();
      assertThat(seen.take()).contains(checked ? "the port is taken" : "a class is missing");
      assertThat(seen.take()).isEqualTo("kept");
    }
  }

  private CertificateController controller(
      Supplier<String> reconciled, BlockingQueue<String> seen) {
    return new CertificateController(
        client,
        Pairs.config("tranche-system", Duration.ofDays(1), Duration.ofSeconds(30), false),
        InstantSource.system(),
        state -> seen.add(reconciled.get()),
        seen::add);
  }
}
