package dev.tranche.extender.readapi;

import dev.tranche.extender.history.GpuHistory;
import dev.tranche.extender.readapi.Answers.Answer;
import dev.tranche.extender.readapi.Answers.Format;
import dev.tranche.extender.readapi.query.HistoryQuery;
import dev.tranche.extender.readapi.query.HistoryQuery.Parsed;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.row.History;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/** Answers what GPUs did in the last hours, without the extender's loop. */
final class HistoryAnswers {
  private final Vertx vertx;
  private final Optional<GpuHistory> history;
  private final LongSupplier clockMs;

  /**
   * @param history empty if none is kept
   */
  HistoryAnswers(Vertx vertx, Optional<GpuHistory> history, LongSupplier clockMs) {
    this.vertx = vertx;
    this.history = history;
    this.clockMs = clockMs;
  }

  /**
   * @param shown which GPUs are shown, by uuid
   */
  Future<Answer> of(MultiMap parameters, Predicate<String> shown, Format format) {
    if (history.isEmpty()) {
      return refused(notFound("no history is kept: extender.api.historyMemory is 0"));
    }
    return switch (HistoryQuery.parse(parameters, Instant.now())) {
      case Parsed.Refused(Problem problem) -> refused(problem);
      case Parsed.Valid(HistoryQuery query) ->
          vertx.executeBlocking(() -> answer(history.get(), query, shown, format), false);
    };
  }

  private Answer answer(
      GpuHistory kept, HistoryQuery query, Predicate<String> shown, Format format) {
    long nowMs = clockMs.getAsLong();
    Instant now = Instant.now().truncatedTo(ChronoUnit.MILLIS);
    Predicate<String> asked = uuid -> query.uuid() == null || uuid.equals(query.uuid());
    return kept.find(query.node(), asked.and(shown), query.ago().toMillis(), nowMs)
        .map(found -> History.of(query.node(), found, query.uuid() == null, now, nowMs))
        .<Answer>map(found -> new Answer.Found(format.of(found)))
        .orElseGet(() -> new Answer.Refused(unknown(query)));
  }

  private static Problem unknown(HistoryQuery query) {
    return notFound(
        "nothing was recorded of %s in the last %d hours, or since this extender started"
            .formatted(
                query.uuid() == null
                    ? "node " + query.node()
                    : "GPU " + query.uuid() + " of node " + query.node(),
                Duration.ofMillis(GpuHistory.WINDOW_MS).toHours()));
  }

  private static Problem notFound(String detail) {
    return Problem.of(404, "Not found", detail);
  }

  private static Future<Answer> refused(Problem problem) {
    return Future.succeededFuture(new Answer.Refused(problem));
  }
}
