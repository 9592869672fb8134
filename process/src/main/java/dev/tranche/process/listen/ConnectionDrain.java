package dev.tranche.process.listen;

import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Closes the connections that clients keep open, once they should use another process: a Service
 * routes only new connections there. Confined to the server's event loop.
 */
public final class ConnectionDrain {
  /** As long as a client waits for a response. */
  private static final long ANSWERED_S_MAX = 10;

  private final Vertx vertx;
  private final BooleanSupplier draining;

  private final Map<HttpConnection, OpenConnection> connections = new HashMap<>();

  static final class OpenConnection {
    private final HttpConnection connection;

    /** Requests that have no answer yet. */
    private int pendingResponses;

    /** Whether the connection closes after its last response. */
    private boolean closing;

    OpenConnection(HttpConnection connection) {
      this.connection = connection;
    }

    /** Does not close while a response is outstanding: HTTP/2 would take the request back. */
    void closeIfAnswered() {
      if (closing && pendingResponses == 0) {
        connection.shutdown(ANSWERED_S_MAX, TimeUnit.SECONDS);
      }
    }
  }

  /**
   * @param draining whether clients should use another process by now
   */
  public ConnectionDrain(Vertx vertx, BooleanSupplier draining) {
    this.vertx = vertx;
    this.draining = draining;
  }

  /**
   * Returns a handler that counts the requests. A connection that is used while {@code draining} is
   * true closes after its last response.
   */
  Handler<HttpServerRequest> counting(Handler<HttpServerRequest> requests) {
    return request -> {
      countRequest(request);
      requests.handle(request);
    };
  }

  /** Closes all connections, those without a request in flight at once. */
  public void closeConnections() {
    for (OpenConnection each : List.copyOf(connections.values())) {
      each.closing = true;
      each.closeIfAnswered();
    }
  }

  OpenConnection track(HttpConnection connection) {
    return connections.computeIfAbsent(
        connection,
        opened -> {
          opened.closeHandler(closed -> connections.remove(opened));
          return new OpenConnection(opened);
        });
  }

  private void countRequest(HttpServerRequest request) {
    OpenConnection connection = track(request.connection());
    connection.pendingResponses++;
    if (draining.getAsBoolean()) {
      connection.closing = true;
      if (request.version() == HttpVersion.HTTP_1_1) {
        request.response().putHeader("Connection", "close");
      }
    }
    request.response().bodyEndHandler(ended -> responseEnded(connection));
  }

  private void responseEnded(OpenConnection connection) {
    connection.pendingResponses--;
    if (connection.closing) {
      // The last bytes are not written yet.
      vertx.runOnContext(next -> connection.closeIfAnswered());
    }
  }
}
