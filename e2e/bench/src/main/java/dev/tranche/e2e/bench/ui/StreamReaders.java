package dev.tranche.e2e.bench.ui;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** Readers of the read API's stream, which read as an open page does and discard the data. */
public final class StreamReaders implements AutoCloseable {
  private static final String REQUEST =
      "GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";

  private static final String OK = "HTTP/1.1 200 ";
  private static final int BUFFER_BYTES = 256 * 1024;

  private final List<Socket> sockets = new ArrayList<>();
  private final LongAdder bytes = new LongAdder();
  private volatile @Nullable String failure;
  private volatile boolean closing;

  /**
   * @param port of the read API on loopback
   */
  public StreamReaders(int port, int count) throws IOException {
    for (int i = 0; i < count; i++) {
      var socket = new Socket(InetAddress.getLoopbackAddress(), port);
      sockets.add(socket);
      socket.getOutputStream().write(REQUEST.getBytes(StandardCharsets.US_ASCII));
      Thread.ofVirtual().start(() -> read(socket));
    }
  }

  private void read(Socket socket) {
    try {
      InputStream in = socket.getInputStream();
      String status = new String(in.readNBytes(OK.length()), StandardCharsets.US_ASCII);
      if (!status.equals(OK)) {
        throw new IOException("the answer begins with " + status);
      }
      var buffer = new byte[BUFFER_BYTES];
      for (int length = in.read(buffer); length >= 0; length = in.read(buffer)) {
        bytes.add(length);
      }
      throw new IOException("the stream has ended");
    } catch (IOException e) {
      if (!closing) {
        failure = e.toString();
      }
    }
  }

  /** What all of them have read by now. */
  public long bytes() {
    return bytes.sum();
  }

  /**
   * @throws IllegalStateException if a reader has stopped, so that fewer readers were measured
   */
  public void requireAlive() {
    if (failure != null) {
      throw new IllegalStateException("a reader of the stream failed: " + failure);
    }
  }

  @Override
  public void close() throws IOException {
    closing = true;
    for (Socket socket : sockets) {
      socket.close();
    }
  }
}
