package dev.tranche.nodeplugin.kubelet;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.Device;
import dev.tranche.api.kubelet.DevicePluginGrpcService;
import dev.tranche.api.kubelet.ListAndWatchResponse;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.grpc.server.GrpcServer;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

final class DeviceStreamsIT {
  /** HTTP/2 whose client takes no data: its initial window is 0. */
  private static final String BEGIN =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\6\4\0\0\0\0\0" + "\0\4\0\0\0\0";

  private static final ListAndWatchResponse LIST =
      ListAndWatchResponse.newBuilder().addDevices(Device.newBuilder().setID("GPU-a::0")).build();

  private final Vertx vertx = Vertx.vertx();
  private final List<Throwable> logged = new CopyOnWriteArrayList<>();

  /** Held, since loggers are only weakly referenced. */
  private final Logger http2 = Logger.getLogger("io.netty.handler.codec.http2");

  /** Vert.x queues the end behind the list, and fails on it when the connection closes. */
  @Test
  void end_whileTheKubeletTakesNoList_logsNoException() throws Exception {
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
    var ended = new AtomicReference<DeviceStreams>();
    var grpc = GrpcServer.server(vertx);
    grpc.callHandler(
        DevicePluginGrpcService.ListAndWatch,
        call -> {
          var streams =
              new DeviceStreams(
                  LIST,
                  () ->
                      vertx.runOnContext(
                          opened -> {
                            ended.get().end();
                            call.connection().close();
                          }),
                  () -> {},
                  () -> {});
          ended.set(streams);
          streams.opened(call);
        });
    HttpServer server =
        vertx.createHttpServer().requestHandler(grpc).listen(0, "127.0.0.1").await();
    try (var kubelet = new Socket(InetAddress.getLoopbackAddress(), server.actualPort())) {
      kubelet.setSoTimeout(60_000);
      kubelet.getOutputStream().write(BEGIN.getBytes(US_ASCII));
      byte[] head = head();
      kubelet.getOutputStream().write(new byte[] {0, 0, (byte) head.length, 1, 4, 0, 0, 0, 1});
      kubelet.getOutputStream().write(head);
      // One message, which is empty, and the end of the call.
      kubelet.getOutputStream().write(new byte[] {0, 0, 5, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0});
      kubelet.getInputStream().transferTo(OutputStream.nullOutputStream());
    }
    vertx.close().await();
    assertThat(ended.get().anyOpen()).isFalse();
    assertThat(logged).isEmpty();
  }

  /** Each header literally, in HPACK. */
  private static byte[] head() {
    var block = new ByteArrayOutputStream();
    for (String text :
        List.of(
            ":method", "POST",
            ":scheme", "http",
            ":path", "/v1beta1.DevicePlugin/ListAndWatch",
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
