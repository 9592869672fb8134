package dev.tranche.extender.client;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.tranche.extender.client.transport.VertxTransport;
import io.fabric8.kubernetes.api.model.KubernetesResource;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.Status;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.RequestConfigBuilder;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.net.URI;
import java.util.List;

/** Creates clients of the API server. */
public final class ApiClient {
  /**
   * The kinds that watches return. Without this list, the client would load each of the API's
   * thousand kinds.
   */
  private static final List<Class<? extends KubernetesResource>> WATCHED =
      List.of(Node.class, Pod.class, PodDisruptionBudget.class, Secret.class, Status.class);

  private ApiClient() {}

  /** Returns a client that sends each call only once, for callers that retry by themselves. */
  public static KubernetesClient withoutRetries(KubernetesClient client, int timeoutMs) {
    var config =
        new RequestConfigBuilder()
            .withRequestTimeout(timeoutMs)
            .withRequestRetryBackoffLimit(0)
            .build();
    return client.newClient(config).adapt(KubernetesClient.class);
  }

  /**
   * Returns the URI for a request that does not use the client's own methods.
   *
   * @param path from the server's root, with its query
   */
  public static URI uri(KubernetesClient client, String path) {
    String server = client.getMasterUrl().toString();
    String base = server.endsWith("/") ? server.substring(0, server.length() - 1) : server;
    return URI.create(base + path);
  }

  /** Opens a client configured by the environment, the pod's service account or KUBECONFIG. */
  public static KubernetesClient open() {
    var serialization = new KubernetesSerialization(new ObjectMapper(), false);
    WATCHED.forEach(serialization::registerKubernetesResource);
    return new KubernetesClientBuilder()
        .withKubernetesSerialization(serialization)
        .withHttpClientFactory(new VertxTransport())
        .build();
  }
}
