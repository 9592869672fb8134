package dev.tranche.extender.client.transport;

import io.fabric8.kubernetes.client.http.HttpClient;

/**
 * Lets the Kubernetes client use Vert.x's HTTP client. TLS and frames stay on one thread, where the
 * JDK's client hands each message from thread to thread. The one that the Kubernetes client's
 * makers offer needs a Vert.x for which there is no vertx-grpc.
 */
public final class VertxTransport implements HttpClient.Factory {
  @Override
  public HttpClient.Builder newBuilder() {
    return new TransportBuilder(this);
  }
}
