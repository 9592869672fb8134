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
 * The open ListAndWatch calls, all told the latest list. One who does not read has one list waiting
 * and gets the latest after it; of too many calls the oldest is ended. A closed one is found out in
 * three ways: a cancel comes to the request's error handler, a lost connection to the response's
 * exception handler, and either to a write. Confined to the event loop.
 */
final class DeviceStreams {
  /** The kubelet has one; another may be open while it starts anew. */
  static final int OPEN_MAX = 4;

  private final Set<GrpcServerResponse<Empty, ListAndWatchResponse>> open = new LinkedHashSet<>();
  private final Set<GrpcServerResponse<Empty, ListAndWatchResponse>> writing = new HashSet<>();
  private final Set<GrpcServerResponse<Empty, ListAndWatchResponse>> stale = new HashSet<>();
  private final Runnable firstOpened;
  private final Runnable lastClosed;
  private final Runnable crowded;
  private ListAndWatchResponse latest;

  /**
   * @param firstOpened run when one is open again
   * @param lastClosed run when none is left open
   * @param crowded run when one is ended because there are too many
   */
  DeviceStreams(
      ListAndWatchResponse first, Runnable firstOpened, Runnable lastClosed, Runnable crowded) {
    this.latest = first;
    this.firstOpened = firstOpened;
    this.lastClosed = lastClosed;
    this.crowded = crowded;
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
          endOldest();
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
    writing.clear();
    stale.clear();
  }

  private void endOldest() {
    while (open.size() > OPEN_MAX) {
      var oldest = open.iterator().next();
      crowded.run();
      closed(oldest);
      oldest.cancel();
    }
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
