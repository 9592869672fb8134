package dev.tranche.extender;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Replicas behind a Service for a kube-scheduler of the cluster's own: one of them is asked. */
@Tag("slow")
final class ServiceModeIT {

  private final MockCluster cluster = new MockCluster();
  private final KubernetesClient client = cluster.client();
  private final Vertx vertx = Vertx.vertx();
  private final HttpClient http = HttpClient.newHttpClient();

  @BeforeEach
  void start() throws Exception {
    cluster.certificate();
    cluster.node("node-a");
    cluster.node("node-b");
  }

  @AfterEach
  void stop() {
    vertx.close().await();
    cluster.close();
  }

  @Test
  void behindAService_everyReplicaIsReady_andTheLeaderServesTheVerbsOverTls() throws Exception {
    cluster.verbsService();
    cluster.pod("trainer", 3);
    try (var follower = new Extender(ExtenderIT.serviceConfig("extender-2", "10.0.0.2"), client)) {
      try (var leader = new Extender(ExtenderIT.serviceConfig("extender-1", "10.0.0.1"), client)) {
        leader.start().await();
        until(() -> isReady(leader) && cluster.verbsLeadTo().equals(List.of("10.0.0.1")));
        follower.start().await();
        until(() -> isReady(follower));
        assertThat(isReady(leader)).isTrue();
        assertThat(overTls(leader.verbsPort(), filter())).contains("sends no reports");
        assertThat(overTls(follower.verbsPort(), filter()))
            .contains("Lease gpu/tranche-extender is held by extender-1, not by this process");
      }
      assertThat(cluster.verbsLeadTo()).doesNotContain("10.0.0.1");
      until(() -> cluster.verbsLeadTo().equals(List.of("10.0.0.2")));
      assertThat(overTls(follower.verbsPort(), filter())).contains("sends no reports");
    }
    assertThat(cluster.verbsLeadTo()).isEmpty();
  }

  @Test
  void leaderWhoseServiceIsMissing_isNotReady_andSaysSo() throws Exception {
    try (var leader = new Extender(ExtenderIT.serviceConfig("extender-1", "10.0.0.1"), client)) {
      leader.start().await();
      until(
          () ->
              readyz(leader)
                  .body()
                  .startsWith("Service gpu/tranche-extender-verbs does not exist"));
      cluster.verbsService();
      until(() -> isReady(leader));
    }
  }

  private boolean isReady(Extender extender) throws Exception {
    return readyz(extender).body().equals("ready\n");
  }

  private HttpResponse<String> readyz(Extender extender) throws Exception {
    var uri = URI.create("http://127.0.0.1:" + extender.metricsPort() + "/readyz");
    return http.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
  }

  private String filter() {
    return "{\"Pod\":%s,\"Nodes\":null,\"NodeNames\":[\"node-a\",\"node-b\"]}"
        .formatted(Serialization.asJson(cluster.pod("trainer")));
  }

  private String overTls(int port, String body) {
    var trusting =
        vertx.createHttpClient(
            new HttpClientOptions().setSsl(true).setTrustAll(true).setVerifyHost(false));
    try {
      return trusting
          .request(HttpMethod.POST, port, "127.0.0.1", "/filter")
          .compose(request -> request.send(body).compose(HttpClientResponse::body))
          .await()
          .toString();
    } finally {
      trusting.close().await();
    }
  }
}
