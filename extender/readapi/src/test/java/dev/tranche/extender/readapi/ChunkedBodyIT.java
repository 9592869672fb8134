package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.SocketAddress;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** An API server that proxies {@code kubectl tranche what-if} sends its body in chunks. */
class ChunkedBodyIT {
  private static final String HEAD =
      "POST /api/v1/what-if HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

  private final LimitedTransport transport = new LimitedTransport();
  @AutoClose private final Vertx vertx = transport.vertx(new VertxOptions());

  @Test
  void body_isRead() throws Exception {
    String last = HEAD.replace("Host", "Connection: close\r\nHost");
    String answer = answer(last + "4\r\nwhat\r\n3\r\n-if\r\n0\r\n\r\n");
    assertThat(answer.lines().findFirst()).hasValue("HTTP/1.1 200 OK");
    assertThat(answer).endsWith("what-if");
  }

  @Test
  void body_isRefused_whereAPortTakesNoChunks() throws Exception {
    HttpServer server =
        listen(
            port ->
                port.http1(
                    new HttpServerOptions(), () -> false, request -> request.response().end()));
    try (Socket socket = connect(server)) {
      socket.getOutputStream().write((HEAD + "0\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
      assertThat(readAll(socket)).startsWith("HTTP/1.1 411 Length Required");
    }
  }

  /** Returns all that a server that echoes bodies sends until it closes the connection. */
  private String answer(String request) throws IOException {
    HttpServer server =
        listen(
            port ->
                port.http1WithChunkedBodies(
                    new HttpServerOptions(),
                    () -> false,
                    posted -> posted.body().onSuccess(body -> posted.response().end(body))));
    try (Socket socket = connect(server)) {
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      return readAll(socket);
    }
  }

  private HttpServer listen(Function<ListeningPort, HttpServer> create) {
    var port = new ListeningPort(vertx, transport, "test", new ConnectionLimits(8, 8));
    return create.apply(port).listen(SocketAddress.inetSocketAddress(0, "127.0.0.1")).await();
  }

  private static Socket connect(HttpServer server) throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), server.actualPort());
    socket.setSoTimeout(30_000);
    return socket;
  }

  private static String readAll(Socket socket) throws IOException {
    return new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
  }
}
