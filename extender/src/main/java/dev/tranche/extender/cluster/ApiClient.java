package dev.tranche.extender.cluster;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.fabric8.kubernetes.api.model.KubernetesResource;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.Status;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.RequestConfigBuilder;
import io.fabric8.kubernetes.client.jdkhttp.JdkHttpClientFactory;
import io.fabric8.kubernetes.client.jdkhttp.JdkHttpClientImpl;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.net.http.HttpClient;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

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

  /** As the environment, the pod's service account or KUBECONFIG say. */
  public static KubernetesClient open() {
    var serialization = new KubernetesSerialization(new ObjectMapper(), false);
    WATCHED.forEach(serialization::registerKubernetesResource);
    return new KubernetesClientBuilder()
        .withKubernetesSerialization(serialization)
        .withHttpClientFactory(new Transport())
        .build();
  }

  /** A call is handed from thread to thread some ten times; virtual ones cost less to wake. */
  private static final class Transport extends JdkHttpClientFactory {
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    @Override
    protected void additionalConfig(HttpClient.Builder builder) {
      builder.executor(threads);
    }

    @Override
    protected void closeHttpClient(JdkHttpClientImpl client) {
      super.closeHttpClient(client);
      threads.shutdownNow();
    }
  }
}
