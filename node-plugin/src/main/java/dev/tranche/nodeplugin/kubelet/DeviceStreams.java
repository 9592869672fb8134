package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.Empty;
import dev.tranche.api.kubelet.ListAndWatchResponse;
import io.vertx.grpc.server.GrpcServerRequest;
import io.vertx.grpc.server.GrpcServerResponse;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The open ListAndWatch calls, each of which gets the latest list. A slow reader has one list
 * waiting and then gets the latest.
 *
 * <p>A closed call is noticed in three ways. A cancel reaches the request's error handler, a lost
 * connection the response's exception handler, and both fail a write. Confined to the event loop.
 */
final class DeviceStreams {
  private final Set<GrpcServerResponse<Empty, ListAndWatchResponse>> open = new LinkedHashSet<>();
  private final Set<GrpcServerResponse<Empty, ListAndWatchResponse>> writing = new HashSet<>();
  private final Set<GrpcServerResponse<Empty, ListAndWatchResponse>> stale = new HashSet<>();
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

  void end() {
    for (var response : List.copyOf(open)) {
      if (writing.contains(response)) {
        // The end would wait behind the list, and Vert.x fails on it when the connection closes.
        response.cancel();
      } else {
        var _ = response.end();
      }
    }
    open.clear();
    writing.clear();
    stale.clear();
  }

  private void write(GrpcServerResponse<Empty, ListAndWatchResponse> response) {
    if (!writing.add(response)) {
      stale.add(response);
      return;
    }
    try {
      response
          .write(latest)
          .onSuccess(v -> written(response))
          .onFailure(failure -> closed(response));
    } catch (IllegalStateException cancelled) {
      closed(response);
    }
  }

  private void written(GrpcServerResponse<Empty, ListAndWatchResponse> response) {
    writing.remove(response);
    if (stale.remove(response) && open.contains(response)) {
      write(response);
    }
  }

  private void closed(GrpcServerResponse<Empty, ListAndWatchResponse> response) {
    writing.remove(response);
    stale.remove(response);
    if (open.remove(response) && open.isEmpty()) {
      lastClosed.run();
    }
  }
}
