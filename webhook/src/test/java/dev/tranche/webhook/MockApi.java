package dev.tranche.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.tranche.process.settings.HostPort;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.guard.GuardRules;
import dev.tranche.webhook.nodes.ClusterWatch;
import dev.tranche.webhook.tls.Pairs;
import dev.tranche.webhook.tls.TlsConfig;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookBuilder;
import io.fabric8.kubernetes.api.model.admissionregistration.v1.MutatingWebhookConfigurationBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Set;

/** An API server that remembers what it is sent. */
public final class MockApi implements AutoCloseable {
  static final String NAMESPACE = "tranche-system";

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
    Pairs.createSecrets(client, NAMESPACE);
  }

  public KubernetesClient client() {
    return client;
  }

  /** The whole process but its main method, not started. */
  Webhook webhook(TlsConfig tls) {
    return webhook(tls, InstantSource.system());
  }

  /**
   * @param clock decides when certificates are due and when they have ended
   */
  Webhook webhook(TlsConfig tls, InstantSource clock) {
    var local = new HostPort("127.0.0.1", 0);
    List<String> resources = List.of("nvidia.com/gpu");
    return new Webhook(
        new WebhookConfig(
            tls,
            local,
            local,
            Reviews.rules(resources, 10, "tranche-scheduler", "nvidia"),
            Duration.ZERO,
            new GuardRules(
                GuardMode.VOID, true, Set.of(), resources, "/var/lib/kubelet", List.of())),
        new KubernetesClientBuilder()
            .withConfig(client.getConfiguration())
            .withKubernetesSerialization(ClusterWatch.serialization())
            .build(),
        clock);
  }

  /** As the chart makes it, with one entry. */
  void createConfiguration(String path) {
    var entry =
        new MutatingWebhookBuilder()
            .withName("one.tranche.dev")
            .withNewClientConfig()
            .withNewService()
            .withName("tranche-webhook")
            .withNamespace(NAMESPACE)
            .withPath(path)
            .endService()
            .endClientConfig()
            .withSideEffects("NoneOnDryRun")
            .build();
    client
        .resource(
            new MutatingWebhookConfigurationBuilder()
                .withNewMetadata()
                .withName("tranche")
                .endMetadata()
                .withWebhooks(entry)
                .build())
        .create();
  }

  /** Changes something that means nothing, at which every webhook reconciles. */
  void touchConfiguration() {
    var configuration =
        client.admissionRegistration().v1().mutatingWebhookConfigurations().withName("tranche");
    String touched =
        "{\"metadata\": {\"annotations\": {\"touched\": \"%d\"}}}".formatted(System.nanoTime());
    // Without a resourceVersion, since the webhooks write it meanwhile.
    configuration.patch(PatchContext.of(PatchType.JSON_MERGE), touched);
  }

  /** What the configuration has of it; empty: nothing yet. */
  String caBundle() {
    String encoded =
        client
            .admissionRegistration()
            .v1()
            .mutatingWebhookConfigurations()
            .withName("tranche")
            .get()
            .getWebhooks()
            .getFirst()
            .getClientConfig()
            .getCaBundle();
    return encoded == null ? "" : new String(Base64.getDecoder().decode(encoded), UTF_8);
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
