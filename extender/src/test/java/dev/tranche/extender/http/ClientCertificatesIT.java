package dev.tranche.extender.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.TestAuthority;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.net.PemKeyCertOptions;
import java.io.ByteArrayInputStream;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who may ask the verbs where a certificate is required. */
final class ClientCertificatesIT {
  private static final String NAME = "tranche-scheduler-client";
  private static final String START = "tranche.extender.client.certificate.start.timestamp.seconds";
  private static final String EXPIRY =
      "tranche.extender.client.certificate.expiry.timestamp.seconds";

  private final LimitedTransport transport = new LimitedTransport();
  @AutoClose private final Vertx vertx = transport.vertx(new VertxOptions());
  private final TestAuthority ours = new TestAuthority("ours");
  private final TestAuthority others = new TestAuthority("others");
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final ExtenderMetrics metrics = new ExtenderMetrics(registry);
  private VerbServer server;

  @BeforeEach
  void start() throws Exception {
    server = IdleVerbs.idle(registry).server(vertx, transport);
    server.serve(ours.server(), clients(ours)).await();
  }

  @Test
  void scheduler_withItsCertificate_isAnswered() throws Exception {
    assertThat(ask(ours.client(NAME))).startsWith("200 ").contains("has no NodeNames");
  }

  @Test
  void others_areTurnedAway() throws Exception {
    assertShutOut(() -> ask(null));
    PemKeyCertOptions foreign = others.client(NAME);
    assertShutOut(() -> ask(foreign));
    // The extender's own certificate, or the webhook's, opens nothing.
    PemKeyCertOptions serving = ours.server();
    assertShutOut(() -> ask(serving));
    assertThat(ask(ours.client("somebody"))).startsWith("403 ").contains("CN=" + NAME);
    assertThat(ask(ours.client(NAME + ", CN=somebody"))).startsWith("403 ");
  }

  @Test
  void renewedAuthorities_areBelievedByTheNextConnection() throws Exception {
    server.serve(others.server(), clients(others)).await();
    assertThat(ask(others.client(NAME))).startsWith("200 ");
    PemKeyCertOptions former = ours.client(NAME);
    assertShutOut(() -> ask(former));
  }

  @Test
  void endOfTheCertificate_isToldOnceItWasShown() throws Exception {
    ask(ours.client("somebody"));
    assertThat(registry.find(EXPIRY).gauge()).isNull();
    PemKeyCertOptions own = ours.client(NAME);
    ask(own);
    assertThat(registry.get(EXPIRY).gauge().value()).isEqualTo(end(own));
    assertThat(registry.get(START).gauge().value()).isBetween(1.0, end(own) - 1);
  }

  private static double end(PemKeyCertOptions certificate) throws Exception {
    var pem = new ByteArrayInputStream(certificate.getCertValue().getBytes());
    var x509 = (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(pem);
    return x509.getNotAfter().toInstant().getEpochSecond();
  }

  private ClientCertificates clients(TestAuthority authority) throws Exception {
    return new ClientCertificates(authority.trusted(), NAME, metrics::recordClientCertificate);
  }

  /** With TLS 1.3 a client learns it when it reads. */
  private static void assertShutOut(ThrowingCallable ask) {
    assertThatThrownBy(ask)
        .satisfiesAnyOf(
            e -> assertThat(e).hasRootCauseInstanceOf(SSLException.class),
            e -> assertThat(e).isInstanceOf(SSLException.class),
            e -> assertThat(e).hasMessageContaining("closed"));
  }

  private static Future<String> text(HttpClientResponse response) {
    return response.body().map(body -> response.statusCode() + " " + body);
  }

  private String ask(@Nullable PemKeyCertOptions shown) {
    var options = new HttpClientOptions().setSsl(true).setTrustAll(true).setVerifyHost(false);
    if (shown != null) {
      options.setKeyCertOptions(shown);
    }
    var http = vertx.createHttpClient(options);
    try {
      return http.request(HttpMethod.POST, server.port(), "127.0.0.1", "/filter")
          .compose(request -> request.send("{}").compose(ClientCertificatesIT::text))
          .await();
    } finally {
      http.close().await();
    }
  }
}
