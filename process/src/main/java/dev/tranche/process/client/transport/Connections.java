package dev.tranche.process.client.transport;

import io.fabric8.kubernetes.client.http.TlsVersion;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.Http2Settings;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.http.WebSocketClient;
import io.vertx.core.http.WebSocketClientOptions;
import io.vertx.core.net.ClientOptionsBase;
import io.vertx.core.net.HostAndPort;
import io.vertx.core.net.KeyCertOptions;
import io.vertx.core.net.ProxyOptions;
import io.vertx.core.net.ProxyType;
import io.vertx.core.net.SocketAddress;
import io.vertx.core.net.TrustOptions;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import javax.net.ssl.KeyManager;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509KeyManager;
import org.jspecify.annotations.Nullable;

/**
 * The resources that one client's calls share. The event loop serves only these calls. A slow DNS
 * lookup of the API server, or an interceptor after a refusal, delays other calls but no scheduling
 * decision.
 */
record Connections(
    Vertx vertx,
    Context loop,
    HttpClientAgent http,
    WebSocketClient sockets,
    @Nullable String tlsServerName) {
  /**
   * For HTTP/1.1, such as without TLS, where a connection carries one call at a time. With HTTP/2
   * one connection carries all calls.
   */
  private static final int HTTP1_CONNECTIONS = 16;

  private static final String BASIC = "Basic ";
  private static final int WAITING_MAX = 1_000;
  private static final int WATCHES_MAX = 16;

  /** A compressed page of a thousand nodes fits, so it arrives without a pause. */
  private static final int WINDOW_BYTES = 4 << 20;

  /** etcd takes objects of 1.5 MiB; as JSON they are a few times as large. */
  static final int MESSAGE_BYTES_MAX = 16 << 20;

  static final long PONG_MS_MAX = 5_000;

  static Connections open(TransportBuilder builder) {
    var vertx =
        Vertx.vertx(
            new VertxOptions()
                .setEventLoopPoolSize(1)
                .setWorkerPoolSize(1)
                .setInternalBlockingPoolSize(2)
                .setUseDaemonThread(true));
    var http =
        new HttpClientOptions()
            .setProtocolVersion(
                builder.isPreferHttp11() ? HttpVersion.HTTP_1_1 : HttpVersion.HTTP_2)
            .setUseAlpn(true)
            .setInitialSettings(new Http2Settings().setInitialWindowSize(WINDOW_BYTES))
            .setHttp2ConnectionWindowSize(WINDOW_BYTES);
    var sockets =
        new WebSocketClientOptions()
            .setMaxConnections(WATCHES_MAX)
            .setMaxFrameSize(MESSAGE_BYTES_MAX)
            .setMaxMessageSize(MESSAGE_BYTES_MAX);
    configure(http, builder);
    configure(sockets, builder);
    var pool =
        new PoolOptions().setHttp1MaxSize(HTTP1_CONNECTIONS).setMaxWaitQueueSize(WAITING_MAX);
    return new Connections(
        vertx,
        vertx.getOrCreateContext(),
        vertx.createHttpClient(http, pool),
        vertx.createWebSocketClient(sockets),
        builder.getTlsServerName());
  }

  /**
   * Sets the server name that TLS requests and verifies, if it isn't the address's host; for
   * instance behind a tunnel. The request itself still names the host.
   */
  void setTlsServerName(RequestOptions options) {
    if (tlsServerName != null && !tlsServerName.isEmpty()) {
      options
          .setServer(SocketAddress.inetSocketAddress(options.getPort(), options.getHost()))
          .setHost(tlsServerName);
    }
  }

  static HostAndPort authority(RequestOptions options) {
    return HostAndPort.create(options.getHost(), options.getPort());
  }

  private static void configure(ClientOptionsBase options, TransportBuilder builder) {
    if (builder.getConnectTimeout() != null) {
      options.setConnectTimeout((int) builder.getConnectTimeout().toMillis());
    }
    @Nullable KeyManager key = first(builder.getKeyManagers());
    if (key != null) {
      options.setKeyCertOptions(KeyCertOptions.wrap((X509KeyManager) key));
    }
    @Nullable TrustManager trust = first(builder.getTrustManagers());
    if (trust != null) {
      options.setTrustOptions(TrustOptions.wrap(trust));
    }
    TlsVersion @Nullable [] versions = builder.getTlsVersions();
    if (versions != null && versions.length > 0) {
      options.setEnabledSecureTransportProtocols(
          Arrays.stream(versions).map(TlsVersion::javaName).collect(Collectors.toSet()));
    }
    if (builder.getProxyAddress() != null) {
      options.setProxyOptions(proxy(builder));
    }
  }

  private static <T> @Nullable T first(T @Nullable [] managers) {
    return managers == null || managers.length == 0 ? null : managers[0];
  }

  private static ProxyOptions proxy(TransportBuilder builder) {
    var proxy =
        new ProxyOptions()
            .setType(ProxyType.valueOf(builder.getProxyType().name()))
            .setHost(builder.getProxyAddress().getHostString())
            .setPort(builder.getProxyAddress().getPort());
    @Nullable String authorization = builder.getProxyAuthorization();
    if (authorization == null) {
      return proxy;
    }
    var decoded = Base64.getDecoder().decode(authorization.substring(BASIC.length()));
    String[] account = new String(decoded, StandardCharsets.UTF_8).split(":", 2);
    return proxy.setUsername(account[0]).setPassword(account.length > 1 ? account[1] : "");
  }

  /**
   * Closes the connection of a call that timed out if a ping isn't answered either. The next call
   * opens another connection. Runs on the event loop.
   */
  void closeIfDead(HttpClientRequest call, Throwable why) {
    HttpConnection connection = call.connection();
    if (why instanceof TimeoutException && call.version() == HttpVersion.HTTP_2) {
      connection
          .ping(Buffer.buffer(new byte[Long.BYTES]))
          .timeout(PONG_MS_MAX, TimeUnit.MILLISECONDS)
          .onFailure(silent -> connection.close());
    }
  }

  void close() {
    http.close();
    sockets.close();
    vertx.close();
  }
}
