package dev.tranche.process.listen;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;

/** A test's connections to ports of this machine, from loopback addresses of its choice. */
public final class ClientSockets implements AutoCloseable {
  /** Only ends a broken test. */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Set<Socket> open = ConcurrentHashMap.newKeySet();

  /**
   * Connects to a port of 127.0.0.1.
   *
   * @param from a loopback address
   */
  public Socket connect(String from, int port) throws IOException {
    var socket = new Socket();
    open.add(socket);
    socket.setSoTimeout((int) PATIENCE.toMillis());
    socket.bind(new InetSocketAddress(InetAddress.ofLiteral(from), 0));
    socket.connect(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port));
    return socket;
  }

  /**
   * Puts TLS on a connection, without a handshake yet. Every certificate is trusted.
   *
   * @param protocols that are offered by ALPN
   */
  public static SSLSocket tls(Socket connected, String... protocols)
      throws IOException, GeneralSecurityException {
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), new SecureRandom());
    var tls =
        (SSLSocket) context.getSocketFactory().createSocket(connected, "localhost", 443, true);
    var parameters = tls.getSSLParameters();
    parameters.setApplicationProtocols(protocols);
    tls.setSSLParameters(parameters);
    return tls;
  }

  public static Socket send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(US_ASCII));
    socket.getOutputStream().flush();
    return socket;
  }

  /** Returns the first line of the answer; empty if the connection was closed instead. */
  public static String firstLine(Socket socket) {
    var line = new StringBuilder();
    try {
      InputStream in = socket.getInputStream();
      for (int c = in.read(); c >= 0 && c != '\r'; c = in.read()) {
        line.append((char) c);
      }
    } catch (IOException reset) {
      return "";
    }
    return line.toString();
  }

  public void close(Socket socket) throws IOException {
    open.remove(socket);
    socket.close();
  }

  /** Closes all connections. */
  @Override
  public void close() throws IOException {
    for (Socket socket : open) {
      close(socket);
    }
  }
}
