package dev.tranche.e2e.bench.training;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import java.io.ByteArrayInputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The API server that is played for an extender, as an extender's one connection sees it. */
final class TrainingApiIT {
  private static final int NODES = 200;
  private static final String PASSWORD = "training";

  /**
   * As a starting extender asks: the Secret's read is the client's own and takes nothing packed.
   */
  private static final List<Read> READS =
      List.of(
          new Read("/api/v1/namespaces/training/secrets", false),
          new Read("/api/v1/nodes", true),
          new Read("/api/v1/pods", true),
          new Read("/apis/policy/v1/poddisruptionbudgets", true));

  @TempDir Path folder;
  private final Vertx vertx = Vertx.vertx();
  private HttpClient client;
  private int port;

  private record Read(String path, boolean packed) {}

  /**
   * A response, read to its end.
   *
   * @param body as it was sent
   */
  private record Received(HttpClientResponse response, Buffer body) {
    String encoding() {
      return String.valueOf(response.getHeader("Content-Encoding"));
    }

    byte[] unpacked() throws Exception {
      if (!encoding().equals("gzip")) {
        return body.getBytes();
      }
      try (var packed = new GZIPInputStream(new ByteArrayInputStream(body.getBytes()))) {
        return packed.readAllBytes();
      }
    }
  }

  @BeforeEach
  void start() throws Exception {
    Path keys = folder.resolve("key.p12");
    String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    Process made =
        new ProcessBuilder(
                (keytool
                        + " -genkeypair -alias training -keyalg EC -dname CN=training"
                        + " -ext san=ip:127.0.0.1 -storetype PKCS12 -storepass training -keystore "
                        + keys)
                    .split(" "))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    assertThat(made.waitFor()).isZero();
    var api =
        new TrainingApi(
            vertx,
            ExtenderTraining.certificate(keys, PASSWORD.toCharArray()),
            "training:training",
            NODES);
    port = api.listen(0);
    client =
        vertx.createHttpClient(
            new HttpClientOptions()
                .setSsl(true)
                .setUseAlpn(true)
                .setTrustAll(true)
                .setVerifyHost(false)
                .setProtocolVersion(HttpVersion.HTTP_2));
  }

  @AfterEach
  void stop() {
    vertx.close().await();
  }

  @Test
  void answersOnOneConnection_arePackedForThoseWhoCanReadIt_andAreWhatTheirHeadersSay()
      throws Exception {
    List<Received> first = concurrently();
    List<Received> again = concurrently();
    assertThat(again).hasSameSizeAs(first);
    for (int i = 0; i < READS.size(); i++) {
      for (Received received : List.of(first.get(i), again.get(i))) {
        assertThat(received.response().statusCode()).isEqualTo(200);
        assertThat(received.response().getHeader("Content-Length"))
            .as(READS.get(i).path())
            .isEqualTo(Integer.toString(received.body().length()));
        if (!READS.get(i).packed()) {
          assertThat(received.encoding()).isEqualTo("null");
        }
      }
      assertThat(again.get(i).encoding()).isEqualTo(first.get(i).encoding());
      assertThat(again.get(i).unpacked()).isNotEmpty().isEqualTo(first.get(i).unpacked());
    }
    assertThat(first.get(1).encoding()).as("the list of nodes is large").isEqualTo("gzip");
    assertThat(first.get(1).unpacked()).isEqualTo(TrainingObjects.nodes(NODES).toByteArray());
  }

  /** All of them are under way before one is answered. */
  private List<Received> concurrently() throws Exception {
    List<Future<Received>> all = READS.stream().map(this::send).toList();
    Future.all(all).await(30, SECONDS);
    return all.stream().map(Future::result).toList();
  }

  private Future<Received> send(Read read) {
    return client
        .request(HttpMethod.GET, port, "127.0.0.1", read.path())
        .compose(
            request -> {
              if (read.packed()) {
                request.putHeader("Accept-Encoding", "gzip");
              }
              return request
                  .send()
                  .compose(response -> response.body().map(body -> new Received(response, body)));
            });
  }
}
