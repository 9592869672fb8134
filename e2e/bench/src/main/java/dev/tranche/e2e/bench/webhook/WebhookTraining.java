package dev.tranche.e2e.bench.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.HttpGet;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PfxOptions;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.util.List;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;

/**
 * Exercises the webhook in the training run of its image, with an API server that keeps its
 * Secrets, reviews, and a scrape. The image's class cache then has all classes that this needs.
 * Runs beside the webhook, which uses its default ports.
 */
public final class WebhookTraining {
  /** {@code KUBERNETES_MASTER} of the webhook is {@code https://127.0.0.1:6443}. */
  private static final int API_PORT = 6443;

  private static final int PORT = 8443;
  private static final URI PAGES = URI.create("http://127.0.0.1:9090/");
  private static final int CONNECTIONS = 3;

  private WebhookTraining() {}

  /**
   * @param args a PKCS #12 file with a key for 127.0.0.1, its password, and the webhook's namespace
   */
  public static void main(String[] args) throws Exception {
    var options =
        new HttpServerOptions()
            .setSsl(true)
            .setUseAlpn(true)
            .setKeyCertOptions(new PfxOptions().setPath(args[0]).setPassword(args[1]));
    try (var api = new FakeApi(options, API_PORT);
        var http = HttpClient.newHttpClient()) {
      Await.until(
          "the webhook to be ready",
          150,
          () -> HttpGet.orEmpty(http, PAGES.resolve("readyz")).startsWith("ready"));
      reviews(api.secret(args[2], "tranche-webhook-tls", "ca.crt"));
      HttpGet.orEmpty(http, PAGES.resolve("metrics"));
    }
    System.exit(0);
  }

  private static void reviews(byte[] authority) throws Exception {
    var tls = TlsPost.trusting(authority);
    for (int i = 0; i < CONNECTIONS; i++) {
      Await.until("reviews over one connection", 150, () -> reviewed(tls));
    }
  }

  /**
   * @return whether all were answered: on a busy machine a handshake may take longer than the
   *     webhook waits for the first request
   */
  private static boolean reviewed(SSLContext tls) {
    try (var post = new TlsPost(tls, PORT)) {
      for (byte[] review : fractions()) {
        post.post(TlsPost.request("/mutate/fraction", review));
      }
      for (byte[] review : others()) {
        post.post(TlsPost.request("/mutate/guard", review));
        post.post(TlsPost.request("/mutate/guard/deny", review));
      }
      return true;
    } catch (EOFException | SocketException | SSLHandshakeException closed) {
      System.err.println("sending the reviews again: " + closed.getMessage());
      return false;
    } catch (IOException refused) {
      throw new UncheckedIOException(refused);
    }
  }

  /**
   * Returns reviews that are all granted as requested, except one that is rounded up with a warning
   * and one that is denied.
   */
  private static List<byte[]> fractions() {
    return Stream.concat(
            ReviewBodies.fractions().stream(),
            Stream.of("0.25", "-1").map(fraction -> changed("0.3", fraction)))
        .toList();
  }

  /** The last one's pod asks for all GPUs by an environment variable. */
  private static List<byte[]> others() {
    return Stream.concat(
            ReviewBodies.others().stream(),
            Stream.of(
                changed(
                    "SETTING_0\",\"value\":\"value of setting number 0",
                    "NVIDIA_VISIBLE_DEVICES\",\"value\":\"all")))
        .toList();
  }

  private static byte[] changed(String from, String to) {
    return new String(ReviewBodies.fractions().getFirst(), UTF_8).replace(from, to).getBytes(UTF_8);
  }
}
