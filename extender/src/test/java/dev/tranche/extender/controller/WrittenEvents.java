package dev.tranche.extender.controller;

import io.fabric8.kubernetes.api.model.Event;
import io.vertx.core.Future;
import java.util.List;
import java.util.function.Function;

/** A writer of events that the API server takes. */
final class WrittenEvents {
  private WrittenEvents() {}

  /**
   * @param written receives each event
   */
  static Function<Event, Future<?>> to(List<Event> written) {
    return event -> {
      written.add(event);
      return Future.succeededFuture();
    };
  }
}
