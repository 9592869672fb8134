package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.Empty;
import dev.tranche.api.kubelet.ListAndWatchResponse;
import io.vertx.grpc.server.GrpcServerRequest;
import io.vertx.grpc.server.GrpcServerResponse;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The open ListAndWatch calls, all told the latest list. A closed one is found out in three ways: a
 * cancel comes to the request's error handler, a lost connection to the response's exception
 * handler, and either to a write. Confined to the event loop.
 */
final class DeviceStreams {
  private final Set<GrpcServerResponse<Empty, ListAndWatchResponse>> open = new LinkedHashSet<>();
  private final Runnable firstOpened;
  private final Runnable lastClosed;
  private ListAndWatchResponse latest;

  /**
   * @param firstOpened run when one is open again
   * @param lastClosed run when none is left open
   */
  DeviceStreams(ListAndWatchResponse first, Runnable firstOpened, Runnable lastClosed) {
    this.latest = first;
    this.firstOpened = firstOpened;
    this.lastClosed = lastClosed;
  }

  /** The raw handler: the generated one would leave the kubelet waiting after a failure. */
  void opened(GrpcServerRequest<Empty, ListAndWatchResponse> request) {
    var response = request.response();
    request.errorHandler(error -> closed(response));
    request.exceptionHandler(failure -> closed(response));
    response.exceptionHandler(failure -> closed(response));
    request.connection().closeHandler(v -> closed(response));
    request.handler(
        empty -> {
          boolean first = open.isEmpty();
          open.add(response);
          write(response);
          if (first) {
            firstOpened.run();
          }
        });
  }

  void publish(ListAndWatchResponse list) {
    if (!list.equals(latest)) {
      latest = list;
      List.copyOf(open).forEach(this::write);
    }
  }

  boolean anyOpen() {
    return !open.isEmpty();
  }

  void end() {
    List.copyOf(open).forEach(GrpcServerResponse::end);
    open.clear();
  }

  private void write(GrpcServerResponse<Empty, ListAndWatchResponse> response) {
    try {
      response.write(latest).onFailure(failure -> closed(response));
    } catch (IllegalStateException cancelled) {
      closed(response);
    }
  }

  private void closed(GrpcServerResponse<Empty, ListAndWatchResponse> response) {
    if (open.remove(response) && open.isEmpty()) {
      lastClosed.run();
    }
  }
}
