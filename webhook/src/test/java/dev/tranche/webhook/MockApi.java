package dev.tranche.webhook;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import java.util.HashMap;

/** An API server that remembers what it is sent. */
public final class MockApi implements AutoCloseable {
  private final KubernetesMockServer server =
      new KubernetesMockServer(
          new Context(Serialization.jsonMapper()),
          new MockWebServer(),
          new HashMap<>(),
          new KubernetesCrudDispatcher(),
          true);
  private final KubernetesClient client;

  public MockApi() {
    server.init();
    client = server.createClient();
  }

  public KubernetesClient client() {
    return client;
  }

  /**
   * In the background: where a watch ends while an object is being sent to it, the mock's one
   * thread waits half a minute for itself, and closing it would fail the test.
   */
  @Override
  public void close() {
    Thread.ofVirtual()
        .start(
            () -> {
              try (client) {
                server.destroy();
              }
            });
  }
}
