package dev.tranche.webhook;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.webhook.metrics.ReviewKind;
import dev.tranche.webhook.tls.Pairs;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.net.SocketAddress;
import io.vertx.core.net.TrustOptions;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Two replicas that renew certificates and authorities while requests flow: none may fail. The test
 * moves the clock once both replicas have caught up, so that a slow machine misses no deadline.
 */
class RotationIT {
  private static final Duration AUTHORITY_LIFE = Duration.ofHours(20);
  private static final Duration CERTIFICATE_LIFE = AUTHORITY_LIFE.dividedBy(2);

  private static final Duration STEP = Duration.ofMinutes(29);

  /** A client may verify by a bundle of an hour ago. */
  private static final int STALE_STEPS = 2;

  /** Until two authorities have had a successor. */
  private static final int BUNDLES = 3;

  private final MockApi api = new MockApi();
  private final Vertx vertx = Vertx.vertx();
  private final List<Webhook> replicas = new ArrayList<>();
  private final Set<String> bundles = new LinkedHashSet<>();
  private final List<String> failures = new ArrayList<>();
  private volatile Instant now = Instant.now().truncatedTo(ChronoUnit.SECONDS);
  private int requests;

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
    until("the caBundle", () -> !api.caBundle().isEmpty());
    until("both", () -> replicas.stream().allMatch(r -> r.port() > 0));

    Deque<String> earlier = new ArrayDeque<>();
    while (bundles.size() < BUNDLES) {
      String newest = api.caBundle();
      bundles.add(newest);
      earlier.addLast(newest);
      if (earlier.size() > STALE_STEPS) {
        earlier.removeFirst();
      }
      now = now.plus(STEP);
      requestsUntilBothCaughtUp(earlier.getFirst());
    }
    assertThat(failures).as("of %d requests", requests).isEmpty();
    assertThat(bundles).anyMatch(b -> b.split("BEGIN", -1).length == 3);
  }

  private Webhook replica() {
    var webhook =
        api.webhook(
            Pairs.config(MockApi.NAMESPACE, AUTHORITY_LIFE, CERTIFICATE_LIFE, false), () -> now);
    webhook.start().await();
    return webhook;
  }

  /** The first reconciliation to end may have begun before the clock moved, the second did not. */
  private void requestsUntilBothCaughtUp(String stale) {
    List<Long> enough = replicas.stream().map(r -> r.reconciliations() + 2).toList();
    do {
      api.touchConfiguration();
      List<Future<Integer>> answers = new ArrayList<>();
      for (Webhook replica : replicas) {
        answers.add(review(stale, replica.port()));
        answers.add(review(api.caBundle(), replica.port()));
      }
      Future.join(answers).otherwiseEmpty().await();
      for (Future<Integer> answer : answers) {
        requests++;
        if (answer.failed() || answer.result() != 200) {
          failures.add(requests + ": " + answer.result() + ", " + chain(answer.cause()));
        }
      }
    } while (!caughtUp(enough));
  }

  private boolean caughtUp(List<Long> enough) {
    for (int i = 0; i < enough.size(); i++) {
      if (replicas.get(i).reconciliations() < enough.get(i)) {
        return false;
      }
    }
    return true;
  }

  private static String chain(@Nullable Throwable failure) {
    return failure == null ? "" : failure + ", caused by " + chain(failure.getCause());
  }

  /** On a connection of its own: the handshake is what may fail. */
  private Future<Integer> review(String bundle, int port) {
    HttpClient http =
        vertx.createHttpClient(
            new HttpClientOptions()
                .setSsl(true)
                .setTrustOptions(TrustOptions.wrap(new BundleTrust(bundle, () -> now))));
    return http.request(
            new RequestOptions()
                .setMethod(HttpMethod.POST)
                .setServer(SocketAddress.inetSocketAddress(port, "127.0.0.1"))
                .setHost("tranche-webhook." + MockApi.NAMESPACE + ".svc")
                .setURI(ReviewKind.GUARD_PATH)
                .putHeader("content-type", "application/json"))
        .compose(
            sent ->
                // On the event loop: an answer that arrives before somebody reads its body is lost.
                sent.send(Buffer.buffer(Reviews.bytes("deployment")))
                    .compose(response -> response.body().map(body -> response.statusCode())))
        .eventually(http::close);
  }
}
