package dev.tranche.process.listen;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.tranche.process.log.Logged;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.List;
import java.util.Objects;
import java.util.logging.Level;
import java.util.logging.LogRecord;

/** A gRPC call whose client takes no data, and the exceptions that HTTP/2 logs meanwhile. */
public final class StalledCall {
  /** HTTP/2 whose client takes no data: its initial window is 0. */
  private static final String BEGIN =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\6\4\0\0\0\0\0" + "\0\4\0\0\0\0";

  /** One message, which is empty, and the end of the call. */
  private static final byte[] EMPTY_MESSAGE = {0, 0, 5, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0};

  private final Logged http2 = new Logged("io.netty.handler.codec.http2", Level.WARNING);

  /** Returns what HTTP/2 has logged, on any connection. */
  public List<Throwable> logged() {
    return http2.records().stream().map(LogRecord::getThrown).filter(Objects::nonNull).toList();
  }

  /**
   * Calls a method and waits until the server closes the connection.
   *
   * @param method as in {@code package.Service/Method}
   * @param ends whether the client sends an empty message and ends its side
   */
  public void run(int port, String method, boolean ends) throws IOException {
    try (var client = new Socket(InetAddress.getLoopbackAddress(), port)) {
      client.setSoTimeout(60_000);
      OutputStream out = client.getOutputStream();
      out.write(BEGIN.getBytes(US_ASCII));
      byte[] head = head(method);
      out.write(new byte[] {0, 0, (byte) head.length, 1, 4, 0, 0, 0, 1});
      out.write(head);
      if (ends) {
        out.write(EMPTY_MESSAGE);
      }
      client.getInputStream().transferTo(OutputStream.nullOutputStream());
    }
  }

  /** Each header literally, in HPACK. */
  private static byte[] head(String method) {
    var block = new ByteArrayOutputStream();
    for (String text :
        List.of(
            ":method", "POST",
            ":scheme", "http",
            ":path", "/" + method,
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
