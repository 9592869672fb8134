package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.Empty;
import dev.tranche.api.kubelet.ListAndWatchResponse;
import io.vertx.grpc.server.GrpcServerRequest;
import io.vertx.grpc.server.GrpcServerResponse;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The open ListAndWatch calls, each of which gets the latest list.
 *
 * <p>A closed call is noticed in three ways. A cancel reaches the request's error handler, a lost
 * connection the response's exception handler, and both fail a write. Confined to the event loop.
 */
final class DeviceStreams {
  private final Set<GrpcServerResponse<Empty, ListAndWatchResponse>> open = new LinkedHashSet<>();

  private final Runnable firstOpened;
  private final Runnable lastClosed;
  private ListAndWatchResponse latest;

  /**
   * @param firstOpened run when a call is open again
   * @param lastClosed run when no call is left open
   */
  DeviceStreams(ListAndWatchResponse first, Runnable firstOpened, Runnable lastClosed) {
    this.latest = first;
    this.firstOpened = firstOpened;
    this.lastClosed = lastClosed;
  }

  /** Handles a raw call: the generated handler would leave the kubelet waiting after a failure. */
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

  /** An end would wait behind a list that the kubelet does not take; a cancel does not. */
  void end() {
    List<GrpcServerResponse<Empty, ListAndWatchResponse>> all = List.copyOf(open);
    open.clear();
    all.forEach(GrpcServerResponse::cancel);
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
