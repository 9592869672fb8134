package dev.tranche.process.client.transport;

import io.fabric8.kubernetes.client.http.HttpClient;
import io.fabric8.kubernetes.client.http.StandardHttpClientBuilder;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** Clients that are derived from one share its connections, and are closed with it. */
final class TransportBuilder
    extends StandardHttpClientBuilder<Transport, VertxTransport, TransportBuilder> {
  TransportBuilder(VertxTransport factory) {
    super(factory);
  }

  @Override
  public HttpClient build() {
    @Nullable Transport original = client;
    return original == null
        ? new Transport(this, Connections.open(this), new AtomicBoolean())
        : new Transport(this, original.connections, original.getClosed());
  }

  @Override
  protected TransportBuilder newInstance(VertxTransport factory) {
    return new TransportBuilder(factory);
  }
}
