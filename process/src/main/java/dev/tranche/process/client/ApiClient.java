package dev.tranche.process.client;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.fabric8.kubernetes.api.model.KubernetesResource;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.RequestConfig;
import io.fabric8.kubernetes.client.RequestConfigBuilder;
import io.fabric8.kubernetes.client.http.HttpRequest;
import io.fabric8.kubernetes.client.http.StandardHttpClient;
import io.fabric8.kubernetes.client.http.WebSocket;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import io.fabric8.kubernetes.client.vertx5.Vertx5HttpClientFactory;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.http.WebSocketClientOptions;
import io.vertx.ext.web.client.WebClientOptions;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Creates clients of the API server. */
public final class ApiClient {
  private static final int INFORMER_CALL_MS = 10_000;

  /** Of a watch that has ended, doubled a few times while it fails. */
  private static final int RECONNECT_MS = 250;

  private ApiClient() {}

  /** Returns a client that sends each call only once, for callers that retry by themselves. */
  public static KubernetesClient withoutRetries(KubernetesClient client, int timeoutMs) {
    var config =
        new RequestConfigBuilder()
            .withRequestTimeout(timeoutMs)
            .withRequestRetryBackoffLimit(0)
            .withWatchReconnectInterval(RECONNECT_MS)
            .build();
    return client.newClient(config).adapt(KubernetesClient.class);
  }

  /** Returns a client for informers: its own retries would open a watch on another thread. */
  public static KubernetesClient forInformers(KubernetesClient client) {
    return withoutRetries(client, INFORMER_CALL_MS);
  }

  /**
   * Starts a request that does not use the client's own methods; it has the client's timeout.
   *
   * @param client from {@link #withoutRetries}
   * @param path from the server's root, with its query
   */
  public static HttpRequest.Builder request(KubernetesClient client, String path) {
    var http = (StandardHttpClient<?, ?, ?>) client.getHttpClient();
    int timeoutMs = http.getTag(RequestConfig.class).getRequestTimeout();
    return http.newHttpRequestBuilder()
        .uri(uri(client, path))
        .timeout(timeoutMs, TimeUnit.MILLISECONDS);
  }

  /** Returns the URI of a path from the server's root, with its query. */
  public static URI uri(KubernetesClient client, String path) {
    String server = client.getMasterUrl().toString();
    String base = server.endsWith("/") ? server.substring(0, server.length() - 1) : server;
    return URI.create(base + path);
  }

  /**
   * Opens a WebSocket on the event loop. The client sets its handlers after the socket is open, and
   * elsewhere that may be too late for the first message.
   */
  public static CompletableFuture<WebSocket> openWebSocket(
      WebSocket.Builder socket, WebSocket.Listener listener) {
    return CompletableFuture.completedFuture(socket)
        .thenComposeAsync(each -> each.buildAsync(listener), ApiClient::runOnEventLoop);
  }

  /**
   * Starts an informer of a client from {@link #open}. It calls its handlers on the event loop:
   * they must neither block nor wait for the API server, since all calls would wait for them.
   */
  public static void start(SharedIndexInformer<?> informer) {
    runOnEventLoop(
        () -> {
          var _ = informer.start();
        });
  }

  private static void runOnEventLoop(Runnable task) {
    Transport.VERTX.runOnContext(v -> task.run());
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
        .withConfig(new ConfigBuilder().withWatchReconnectInterval(RECONNECT_MS).build())
        .withKubernetesSerialization(serialization)
        .withHttpClientFactory(new Transport())
        // Informers open their watches there, as openWebSocket does.
        .withTaskExecutor(ApiClient::runOnEventLoop)
        .build();
  }

  /**
   * Sends the client's calls by Vert.x, on an event loop of its own: a slow DNS lookup of the API
   * server delays other calls, but no scheduling decision.
   */
  public static final class Transport extends Vertx5HttpClientFactory {
    /** etcd takes objects of 1.5 MiB; as JSON they are a few times as large. */
    static final int MESSAGE_BYTES_MAX = 16 << 20;

    /** A connection on which nothing arrives for as long is closed; it may have died unnoticed. */
    private static final int SILENT_S_MAX = 15;

    private static final int CONNECTIONS_MAX = 16;
    private static final int WAITING_MAX = 1_000;

    private static final Vertx VERTX =
        Vertx.vertx(
            new VertxOptions()
                .setEventLoopPoolSize(1)
                .setWorkerPoolSize(1)
                .setInternalBlockingPoolSize(2)
                .setUseDaemonThread(true));

    public Transport() {
      super(VERTX);
    }

    @Override
    protected void additionalConfig(
        WebClientOptions http, WebSocketClientOptions sockets, PoolOptions pool) {
      http.setReadIdleTimeout(SILENT_S_MAX);
      pool.setHttp1MaxSize(CONNECTIONS_MAX).setMaxWaitQueueSize(WAITING_MAX);
      sockets.setMaxFrameSize(MESSAGE_BYTES_MAX).setMaxMessageSize(MESSAGE_BYTES_MAX);
    }
  }
}
