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

/** The client of the API server. */
public final class ApiClient {
  /** What a watch may bring; the client would else load each of the API's thousand kinds. */
  private static final List<Class<? extends KubernetesResource>> WATCHED =
      List.of(Node.class, Pod.class, PodDisruptionBudget.class, Secret.class, Status.class);

  private ApiClient() {}

  /** The same that tries a call once only, for those who know better when to try again. */
  public static KubernetesClient once(KubernetesClient client, int timeoutMs) {
    var config =
        new RequestConfigBuilder()
            .withRequestTimeout(timeoutMs)
            .withRequestRetryBackoffLimit(0)
            .build();
    return client.newClient(config).adapt(KubernetesClient.class);
  }

  /**
   * For a call that is not the client's own.
   *
   * @param path from the server's root on, with its query
   */
  public static URI uri(KubernetesClient client, String path) {
    String server = client.getMasterUrl().toString();
    String base = server.endsWith("/") ? server.substring(0, server.length() - 1) : server;
    return URI.create(base + path);
  }

  /** As the environment, the pod's service account or KUBECONFIG say. */
  public static KubernetesClient open() {
    var serialization = new KubernetesSerialization(new ObjectMapper(), false);
    WATCHED.forEach(serialization::registerKubernetesResource);
    return new KubernetesClientBuilder()
        .withKubernetesSerialization(serialization)
        .withHttpClientFactory(new VertxTransport())
        .build();
  }
}
