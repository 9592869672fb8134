package dev.tranche.webhook;

import static dev.tranche.webhook.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.tls.CertificateController;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.core.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two replicas whose authority lives for seconds, asked all the time: none may fail. */
@Tag("slow")
@Timeout(180)
class RotationIT {
  /** Seconds; a longer run by -Dtranche.rotation.life=60. */
  private static final Duration LIFE =
      Duration.ofSeconds(Long.getLong("tranche.rotation.life", 20));

  /** As late as a bundle may reach a client, an API server or a node, in the life above. */
  private static final Duration STALE = LIFE.dividedBy(20);

  private final MockApi api = new MockApi();
  private final Vertx vertx = Vertx.vertx();
  private final List<Webhook> replicas = new ArrayList<>();

  @AfterEach
  void stop() {
    replicas.forEach(Webhook::stop);
    vertx.close().await();
    api.close();
  }

  @Test
  void authoritiesAndCertificates_changeWhileRequestsFlow_withoutOneFailing() throws Exception {
    api.createConfiguration(ReviewKind.GUARD_PATH);
    replicas.add(replica());
    replicas.add(replica());
    await("the caBundle", () -> !api.caBundle().isEmpty());
    await("both", () -> replicas.stream().allMatch(r -> r.port() > 0));

    Set<String> bundles = new LinkedHashSet<>();
    List<String> failures = new ArrayList<>();
    String bundle = api.caBundle();
    long bundleNanos = System.nanoTime();
    int requests = 0;
    // Two authorities have come and gone, one after the other, each with an overlap.
    while (bundles.size() < 5) {
      if (System.nanoTime() - bundleNanos > STALE.toNanos()) {
        bundle = api.caBundle();
        bundleNanos = System.nanoTime();
      }
      bundles.add(bundle);
      Webhook replica = replicas.get(requests % 2);
      try {
        assertThat(review(bundle, replica.port())).isEqualTo(200);
      } catch (Exception e) {
        long bundleAgeMs = (System.nanoTime() - bundleNanos) / 1_000_000;
        failures.add(
            "%d: %s, caused by %s; the bundle was %d ms old"
                .formatted(requests, e, e.getCause(), bundleAgeMs));
      }
      requests++;
    }
    assertThat(failures).as("of %d requests", requests).isEmpty();
    assertThat(bundles).anyMatch(b -> b.split("BEGIN", -1).length == 3);
  }

  private Webhook replica() {
    var webhook =
        api.webhook(
            new CertificateController.CertificateOptions(false, LIFE, LIFE.dividedBy(2), false));
    webhook.start().await();
    return webhook;
  }

  /** On a connection of its own: the handshake is what may fail. */
  private int review(String bundle, int port) throws Exception {
    HttpClient http =
        vertx.createHttpClient(
            new HttpClientOptions()
                .setSsl(true)
                .setTrustOptions(new PemTrustOptions().addCertValue(Buffer.buffer(bundle))));
    try {
      return http.request(
              new RequestOptions()
                  .setMethod(HttpMethod.POST)
                  .setServer(SocketAddress.inetSocketAddress(port, "127.0.0.1"))
                  .setHost("tranche-webhook." + MockApi.NAMESPACE + ".svc")
                  .setURI(ReviewKind.GUARD_PATH)
                  .putHeader("content-type", "application/json"))
          .compose(sent -> sent.send(Buffer.buffer(Reviews.bytes("deployment"))))
          .compose(response -> response.body().map(body -> response.statusCode()))
          .await(10, TimeUnit.SECONDS);
    } finally {
      http.close().await();
    }
  }
}
