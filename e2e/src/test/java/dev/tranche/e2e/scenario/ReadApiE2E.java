package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.LocalApi;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.client.LocalPortForward;
import io.fabric8.kubernetes.client.readiness.Readiness;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The read API by the tokens of ServiceAccounts. */
@Order(25)
class ReadApiE2E extends Scenario {
  private static final int PORT = 9444;
  private static final String SERVICE = "tranche-extender." + Tranche.NAMESPACE + ".svc";

  @TempDir private Path folder;

  @AfterEach
  void unbind() {
    kubectl("delete", "clusterrolebinding", "--ignore-not-found", "viewer-" + namespace);
  }

  @Test
  void token_readsOnlyWithTheClusterRole() throws Exception {
    kubectl("-n", namespace, "create", "serviceaccount", "viewer");
    String token = kubectl("-n", namespace, "create", "token", "viewer").strip();
    String ca = "jsonpath={.data.ca\\.crt}";
    Files.writeString(
        folder.resolve("ca.crt"),
        kubectl("-n", Tranche.NAMESPACE, "get", "configmap", "tranche-ca", "-o", ca));
    var extender = tranche().parts("extender").stream().filter(Readiness::isPodReady).findFirst();
    var pods = client().pods().inNamespace(Tranche.NAMESPACE);
    try (LocalPortForward forward = pods.resource(extender.orElseThrow()).portForward(PORT)) {
      assertThat(gpus(forward, "").status()).isEqualTo(401);
      assertThat(gpus(forward, "nonsense").status()).isEqualTo(401);
      LocalApi.Answer forbidden = gpus(forward, token);
      assertThat(forbidden.status()).as("though it may get /api/*: %s", forbidden).isEqualTo(403);
      assertThat(forbidden.json().at("/detail").asText())
          .contains("system:serviceaccount:" + namespace + ":viewer", "ClusterRole tranche-viewer");

      kubectl(
          "create",
          "clusterrolebinding",
          "viewer-" + namespace,
          "--clusterrole=tranche-viewer",
          "--serviceaccount=" + namespace + ":viewer");
      Await.until("the right to count", 30, () -> gpus(forward, token).status() == 200);
      assertThat(gpus(forward, token).json().at("/items")).hasSize(6);
    }
  }

  /** The certificate is the Service's, wherever the connection goes. */
  private LocalApi.Answer gpus(LocalPortForward forward, String token) {
    String header = token.isEmpty() ? "" : "-H 'Authorization: Bearer %s'".formatted(token);
    try {
      String answer =
          Shell.run(
                  folder,
                  "curl -sS --cacert ca.crt --resolve %1$s:%2$d:127.0.0.1 %3$s -w '\\n%%{http_code}' https://%1$s:%2$d/api/v1/gpus"
                      .formatted(SERVICE, forward.getLocalPort(), header))
              .orFail();
      int end = answer.lastIndexOf('\n');
      return new LocalApi.Answer(
          Integer.parseInt(answer.substring(end + 1)), answer.substring(0, end));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
