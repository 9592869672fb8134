package dev.tranche.extender.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServer;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import io.vertx.ext.web.Router;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Bodies are read into bytes that served before, and each is answered with itself here. */
final class BodyReaderIT {
  private static final int LARGE_BYTES = 150_000;
  private final Vertx vertx = Vertx.vertx();
  // A client that is garbage collected closes its connections.
  private final NetClient client = vertx.createNetClient();
  private HttpServer server;

  @BeforeEach
  void start() {
    var router = Router.router(vertx);
    router.post("/").handler(new BodyReader());
    router
        .post("/")
        .handler(
            call -> {
              Body body = BodyReader.of(call);
              call.response().end(Buffer.buffer().appendBytes(body.bytes, 0, body.lengthBytes));
            });
    server = vertx.createHttpServer().requestHandler(router).listen(0, "127.0.0.1").await();
  }

  @AfterEach
  void stop() {
    vertx.close().await();
  }

  @Test
  void bodiesOneAfterTheOther_areEachTheirOwn() throws Exception {
    try (var caller = new Caller()) {
      for (int length : new int[] {LARGE_BYTES, 2_000, 0, 10, 1_500_000, LARGE_BYTES, 3_000}) {
        String body = "b".repeat(length) + length;
        caller.announce(body.length());
        caller.send(body);
        assertThat(caller.answer()).isEqualTo(body);
      }
    }
  }

  @Test
  void bodyWithoutAnnouncedLength_isReadWhole() throws Exception {
    try (var caller = new Caller()) {
      caller.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
      String piece = "p".repeat(0x1000);
      for (int i = 0; i < 40; i++) {
        caller.send("1000\r\n" + piece + "\r\n");
      }
      caller.send("0\r\n\r\n");
      assertThat(caller.answer()).isEqualTo(piece.repeat(40));
    }
  }

  @Test
  void bodiesThatComeInTurns_areKeptApart() throws Exception {
    try (var one = new Caller();
        var other = new Caller()) {
      one.announce(LARGE_BYTES);
      one.send("x".repeat(LARGE_BYTES));
      assertThat(one.answer()).hasSize(LARGE_BYTES);
      one.announce(LARGE_BYTES);
      other.announce(LARGE_BYTES);
      one.send("1".repeat(LARGE_BYTES / 2));
      other.send("2".repeat(LARGE_BYTES / 2));
      one.send("3".repeat(LARGE_BYTES / 2));
      assertThat(one.answer()).isEqualTo("1".repeat(LARGE_BYTES / 2) + "3".repeat(LARGE_BYTES / 2));
      other.send("4".repeat(LARGE_BYTES / 2));
      assertThat(other.answer())
          .isEqualTo("2".repeat(LARGE_BYTES / 2) + "4".repeat(LARGE_BYTES / 2));
    }
  }

  @Test
  void bodyThatIsCutOff_leavesNothingToTheNext() throws Exception {
    try (var gone = new Caller()) {
      gone.announce(LARGE_BYTES);
      gone.send("g".repeat(LARGE_BYTES / 2));
    }
    try (var next = new Caller()) {
      next.announce(LARGE_BYTES);
      next.send("n".repeat(LARGE_BYTES));
      assertThat(next.answer()).isEqualTo("n".repeat(LARGE_BYTES));
    }
  }

  /** HTTP/1.1 by hand, so that a body may come in pieces. */
  private final class Caller implements AutoCloseable {
    private final NetSocket socket;
    private Buffer heard = Buffer.buffer();
    private Promise<String> answered = Promise.promise();

    Caller() {
      socket = client.connect(server.actualPort(), "127.0.0.1").await();
      socket.handler(this::hear);
    }

    private synchronized void hear(Buffer piece) {
      heard.appendBuffer(piece);
      String text = heard.toString();
      int end = text.indexOf("\r\n\r\n");
      String field = "content-length: ";
      if (end >= 0) {
        int from = text.indexOf(field) + field.length();
        int length = Integer.parseInt(text.substring(from, text.indexOf('\r', from)));
        if (text.length() == end + 4 + length) {
          answered.complete(text.substring(end + 4));
        }
      }
    }

    void announce(int length) throws Exception {
      send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + length + "\r\n\r\n");
    }

    void send(String text) throws Exception {
      socket.write(text).await(30, TimeUnit.SECONDS);
    }

    String answer() throws Exception {
      String answer = answered.future().await(30, TimeUnit.SECONDS);
      synchronized (this) {
        answered = Promise.promise();
        heard = Buffer.buffer();
      }
      return answer;
    }

    @Override
    public void close() {
      socket.close().await();
    }
  }
}
