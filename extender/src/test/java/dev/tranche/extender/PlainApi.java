package dev.tranche.extender;

import dev.tranche.process.client.ApiClient;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;

/** An API server over plain HTTP, of which a test answers the requests itself, and its client. */
public final class PlainApi implements AutoCloseable {
  public final Vertx vertx = Vertx.vertx();
  public final KubernetesClient client;

  public PlainApi(Handler<HttpServerRequest> answers) {
    this("", answers);
  }

  /**
   * @param path that each request begins with, as behind a proxy
   */
  public PlainApi(String path, Handler<HttpServerRequest> answers) {
    var server = vertx.createHttpServer().requestHandler(answers).listen(0, "localhost").await();
    client =
        new KubernetesClientBuilder()
            .withConfig(
                new ConfigBuilder(Config.empty())
                    .withMasterUrl("http://localhost:" + server.actualPort() + path)
                    .withHttp2Disable(true)
                    .build())
            .withHttpClientFactory(new ApiClient.Transport())
            .build();
  }

  @Override
  public void close() {
    client.close();
    vertx.close().await();
  }
}
