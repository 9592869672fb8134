package dev.tranche.extender.controller;

import dev.tranche.process.client.ApiClient;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;

/** An API server over plain HTTP, of which a test answers the requests itself. */
final class PlainApi {
  private PlainApi() {}

  static KubernetesClient client(int port) {
    return new KubernetesClientBuilder()
        .withConfig(
            new ConfigBuilder(Config.empty())
                .withMasterUrl("http://localhost:" + port)
                .withHttp2Disable(true)
                .build())
        .withHttpClientFactory(new ApiClient.Transport())
        .build();
  }
}
