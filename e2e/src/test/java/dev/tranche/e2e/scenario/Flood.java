package dev.tranche.e2e.scenario;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * Holds connections to a port, and opens each anew when it is closed: a quarter says nothing, a
 * quarter sends half a head, a quarter half a body, and a quarter one request after the other. It
 * runs as a process of its own in the network of a pod.
 */
final class Flood {
  private static final Duration PAUSE = Duration.ofMillis(500);

  private Flood() {}

  /** {@code Flood tls|plain HOST PORT CONNECTIONS SECONDS}; prints how many it has opened. */
  public static void main(String[] args) throws Exception {
    var target = new InetSocketAddress(args[1], Integer.parseInt(args[2]));
    var opened = new AtomicInteger();
    SocketFactory sockets = args[0].equals("tls") ? trustAll() : SocketFactory.getDefault();
    var connections = Executors.newVirtualThreadPerTaskExecutor();
    for (int i = 0; i < Integer.parseInt(args[3]); i++) {
      int kind = i % 4;
      connections.submit(
          () -> keepOpen(kind == 0 ? SocketFactory.getDefault() : sockets, target, kind, opened));
    }
    Thread.sleep(Duration.ofSeconds(Integer.parseInt(args[4])));
    System.out.print(opened);
    System.exit(0);
  }

  private static @Nullable Void keepOpen(
      SocketFactory sockets, InetSocketAddress target, int kind, AtomicInteger opened)
      throws InterruptedException {
    while (true) {
      try (Socket socket = sockets.createSocket()) {
        socket.connect(target, 5_000);
        opened.incrementAndGet();
        send(socket, kind);
        // Blocks until the server closes the connection.
        socket.getInputStream().transferTo(OutputStream.nullOutputStream());
      } catch (IOException closed) {
        // It is opened anew.
      }
      Thread.sleep(PAUSE);
    }
  }

  private static void send(Socket socket, int kind) throws IOException, InterruptedException {
    String head = "POST /review HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    switch (kind) {
      case 0 -> {}
      case 1 -> write(socket, head + "x: y");
      case 2 -> write(socket, head + "content-length: 1000000\r\n\r\n" + " ".repeat(10_000));
      default -> {
        while (true) {
          write(socket, head + "content-length: 2\r\n\r\n{}");
          Thread.sleep(PAUSE);
        }
      }
    }
  }

  private static void write(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(US_ASCII));
    socket.getOutputStream().flush();
  }

  private static SocketFactory trustAll() throws GeneralSecurityException {
    var context = SSLContext.getInstance("TLS");
    context.init(null, new TrustManager[] {new AnyServer()}, new SecureRandom());
    return context.getSocketFactory();
  }

  /** An attacker does not mind who serves. */
  private static final class AnyServer implements X509TrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
