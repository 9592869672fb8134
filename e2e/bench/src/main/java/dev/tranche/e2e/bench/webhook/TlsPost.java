package dev.tranche.e2e.bench.webhook;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/** Posts requests one after another on one connection, with as little client work as possible. */
public final class TlsPost implements AutoCloseable {
  private final SSLSocket socket;
  private final InputStream in;
  private final OutputStream out;

  public TlsPost(SSLContext tls, int port) throws IOException {
    socket = (SSLSocket) tls.getSocketFactory().createSocket("127.0.0.1", port);
    socket.setTcpNoDelay(true);
    socket.startHandshake();
    in = new BufferedInputStream(socket.getInputStream(), 16 << 10);
    out = socket.getOutputStream();
  }

  /**
   * @param authority a certificate in PEM
   */
  public static SSLContext trusting(byte[] authority) throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null);
    store.setCertificateEntry(
        "ca",
        CertificateFactory.getInstance("X.509")
            .generateCertificate(new ByteArrayInputStream(authority)));
    TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }

  /** A whole request, head and body, to be sent many times. */
  public static byte[] request(String path, byte[] body) {
    byte[] head =
        """
        POST %s HTTP/1.1\r
        host: tranche-webhook.tranche.svc\r
        content-type: application/json\r
        content-length: %d\r
        \r
        """
            .formatted(path, body.length)
            .getBytes(US_ASCII);
    byte[] request = new byte[head.length + body.length];
    System.arraycopy(head, 0, request, 0, head.length);
    System.arraycopy(body, 0, request, head.length, body.length);
    return request;
  }

  /**
   * @return the answer's body
   */
  public byte[] post(byte[] request) throws IOException {
    out.write(request);
    out.flush();
    String status = line();
    int length = 0;
    for (String header = line(); !header.isEmpty(); header = line()) {
      if (header.regionMatches(true, 0, "content-length:", 0, 15)) {
        length = Integer.parseInt(header.substring(15).strip());
      }
    }
    byte[] body = in.readNBytes(length);
    if (!status.startsWith("HTTP/1.1 200")) {
      throw new IOException(status + ": " + new String(body, US_ASCII));
    }
    return body;
  }

  private String line() throws IOException {
    var line = new StringBuilder(48);
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new EOFException("the webhook closed the connection");
      }
      if (c != '\r') {
        line.append((char) c);
      }
    }
    return line.toString();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
