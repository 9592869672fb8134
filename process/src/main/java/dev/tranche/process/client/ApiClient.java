package dev.tranche.process.client;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.tranche.process.client.transport.VertxTransport;
import io.fabric8.kubernetes.api.model.KubernetesResource;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.RequestConfigBuilder;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.net.URI;
import java.util.List;

/** Creates clients of the API server. */
public final class ApiClient {
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

  /**
   * Registers only the kinds that a process reads. Otherwise the client would load the classes of
   * every Kubernetes kind, some tens of megabytes.
   */
  public static KubernetesSerialization serialization(
      List<Class<? extends KubernetesResource>> kinds) {
    var serialization = new KubernetesSerialization(new ObjectMapper(), false);
    kinds.forEach(serialization::registerKubernetesResource);
    return serialization;
  }

  /** Opens a client configured by the environment, the pod's service account or KUBECONFIG. */
  public static KubernetesClient open(KubernetesSerialization serialization) {
    return new KubernetesClientBuilder()
        .withKubernetesSerialization(serialization)
        .withHttpClientFactory(new VertxTransport())
        .build();
  }
}
