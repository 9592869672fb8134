package dev.tranche.extender.stream;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReportsGrpcService;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.grpc.common.GrpcStatus;
import io.vertx.grpc.server.GrpcServer;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

final class NodeStreamIT {
  /** HTTP/2 whose client takes no data: its initial window is 0. */
  private static final String BEGIN =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\6\4\0\0\0\0\0" + "\0\4\0\0\0\0";

  private final Vertx vertx = Vertx.vertx();
  private final List<Throwable> logged = new CopyOnWriteArrayList<>();

  /** Held, since loggers are only weakly referenced. */
  private final Logger http2 = Logger.getLogger("io.netty.handler.codec.http2");

  /** Vert.x queues the end behind the directive, and fails on it when the connection closes. */
  @Test
  void closing_whileTheNodeTakesNothing_logsNoException() throws Exception {
    http2.addHandler(
        new Handler() {
          @Override
          public void publish(LogRecord logRecord) {
            if (logRecord.getThrown() != null) {
              logged.add(logRecord.getThrown());
            }
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        });
    var grpc =
        GrpcServer.server(vertx)
            .callHandler(
                NodeReportsGrpcService.Connect,
                call -> {
                  var stream =
                      new NodeStream(
                          "node-a", vertx, call.response(), () -> call.connection().close(), 0);
                  var _ = stream.send(NodeDirective.newBuilder(), 60_000);
                  stream.closeFromElsewhere(GrpcStatus.OK, "the test ends it");
                });
    HttpServer server =
        vertx.createHttpServer().requestHandler(grpc).listen(0, "127.0.0.1").await();
    try (var node = new Socket(InetAddress.getLoopbackAddress(), server.actualPort())) {
      node.getOutputStream().write(BEGIN.getBytes(US_ASCII));
      byte[] head = head();
      node.getOutputStream().write(new byte[] {0, 0, (byte) head.length, 1, 4, 0, 0, 0, 1});
      node.getOutputStream().write(head);
      node.getInputStream().transferTo(OutputStream.nullOutputStream());
    }
    vertx.close().await();
    assertThat(logged).isEmpty();
  }

  /** Each header literally, in HPACK. */
  private static byte[] head() {
    var block = new ByteArrayOutputStream();
    for (String text :
        List.of(
            ":method", "POST",
            ":scheme", "http",
            ":path", "/tranche.v1.NodeReports/Connect",
            ":authority", "x",
            "content-type", "application/grpc")) {
      if (text.startsWith(":") || text.equals("content-type")) {
        block.write(0);
      }
      block.write(text.length());
      block.writeBytes(text.getBytes(US_ASCII));
    }
    return block.toByteArray();
  }
}
