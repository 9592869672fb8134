package dev.tranche.api.listen;

import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Ends the connections that peers keep once another process should be asked: a Service leads only
 * new connections to it. For the event loop of the server.
 */
public final class ConnectionDrain {
  /** As long as a peer waits for an answer. */
  private static final long ANSWERED_S_MAX = 10;

  private final Vertx vertx;
  private final BooleanSupplier leaving;

  private final Map<HttpConnection, Kept> kept = new HashMap<>();

  private static final class Kept {
    private final HttpConnection connection;

    /** Requests that have no answer yet. */
    private int owed;

    /** Ends with the last answer. */
    private boolean ends;

    Kept(HttpConnection connection) {
      this.connection = connection;
    }

    void answered() {
      owed--;
      endIfAnswered();
    }

    /** Not while an answer is owed: HTTP/2 would take the request back. */
    void endIfAnswered() {
      if (ends && owed == 0) {
        connection.shutdown(ANSWERED_S_MAX, TimeUnit.SECONDS);
      }
    }
  }

  /**
   * @param leaving whether another process should be asked by now
   */
  public ConnectionDrain(Vertx vertx, BooleanSupplier leaving) {
    this.vertx = vertx;
    this.leaving = leaving;
  }

  /**
   * Has the server's requests answered. A connection that another should have been asked on ends
   * after its last answer.
   */
  public HttpServer handle(HttpServer server, Handler<HttpServerRequest> requests) {
    return server
        .connectionHandler(this::keep)
        .requestHandler(
            request -> {
              owe(request);
              requests.handle(request);
            });
  }

  /** Ends all of them, those without a request in flight at once. */
  public void end() {
    for (Kept each : List.copyOf(kept.values())) {
      each.ends = true;
      each.endIfAnswered();
    }
  }

  private Kept keep(HttpConnection connection) {
    return kept.computeIfAbsent(
        connection,
        opened -> {
          opened.closeHandler(closed -> kept.remove(opened));
          return new Kept(opened);
        });
  }

  private void owe(HttpServerRequest request) {
    Kept asked = keep(request.connection());
    asked.owed++;
    if (leaving.getAsBoolean()) {
      asked.ends = true;
      if (request.version() == HttpVersion.HTTP_1_1) {
        request.response().putHeader("Connection", "close");
      }
    }
    // The last bytes are not written yet.
    request.response().bodyEndHandler(said -> vertx.runOnContext(next -> asked.answered()));
  }
}
