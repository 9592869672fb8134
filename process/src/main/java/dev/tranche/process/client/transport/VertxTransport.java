package dev.tranche.process.client.transport;

import io.fabric8.kubernetes.client.http.HttpClient;

/**
 * Lets the Kubernetes client use Vert.x's HTTP client. TLS and frames are handled on one thread,
 * whereas the JDK's client passes each message between threads. The Vert.x transport of the
 * Kubernetes client's own project needs a version of Vert.x for which there is no vertx-grpc.
 */
public final class VertxTransport implements HttpClient.Factory {
  @Override
  public HttpClient.Builder newBuilder() {
    return new TransportBuilder(this);
  }
}
