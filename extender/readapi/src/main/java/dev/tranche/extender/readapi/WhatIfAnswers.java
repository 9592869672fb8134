package dev.tranche.extender.readapi;

import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.readapi.Answers.Answer;
import dev.tranche.extender.readapi.Answers.Format;
import dev.tranche.extender.readapi.PodBody.Parsed;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.readapi.row.WhatIfAnswer;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.selection.PodSelection;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Answers where a pod would go; limits concurrent requests and requests per second. */
final class WhatIfAnswers {
  /** Each request looks at every node on the extender's loop. */
  static final int PER_SECOND_MAX = 10;

  static final int AT_ONCE_MAX = 2;

  static final int AT_ONCE_OF_NAMESPACES_MAX = 1;

  private static final String COUNT = "count";

  private final Vertx vertx;
  private final Supplier<Loop> loop;
  private final Supplier<WhatIf> whatIf;
  private final Function<PodSelection, NodeFilter> selections;
  private final PodBody pods;
  private final LongSupplier clockMs;
  private final ViewRate rate = new ViewRate("what-if requests", PER_SECOND_MAX);
  private final Semaphore free = new Semaphore(AT_ONCE_MAX);

  /** Of readers of single namespaces: they leave the others' places alone. */
  private final Semaphore freeOfNamespaces = new Semaphore(AT_ONCE_OF_NAMESPACES_MAX);

  WhatIfAnswers(
      Vertx vertx,
      Supplier<Loop> loop,
      Supplier<WhatIf> whatIf,
      Function<PodSelection, NodeFilter> selections,
      PodBody pods,
      LongSupplier clockMs) {
    this.vertx = vertx;
    this.loop = loop;
    this.whatIf = whatIf;
    this.selections = selections;
    this.pods = pods;
    this.clockMs = clockMs;
  }

  Future<Answer> of(View view, MultiMap parameters, Buffer body, Format format) {
    for (var parameter : parameters) {
      if (!parameter.getKey().equals(COUNT) || parameters.getAll(COUNT).size() > 1) {
        return refused(
            Problem.badRequest(
                new Problem.Invalid(
                    parameter.getKey(), parameter.getValue(), "the parameter count, once")));
      }
    }
    String sent = parameters.get(COUNT);
    String count = sent == null ? "1" : sent;
    if (!count.matches("[1-9]\\d{0,3}") || Integer.parseInt(count) > WhatIf.COUNT_MAX) {
      return refused(
          Problem.badRequest(
              new Problem.Invalid(COUNT, count, "a whole number from 1 to " + WhatIf.COUNT_MAX)));
    }
    Optional<Problem> tooMany = rate.refusal(view, clockMs.getAsLong());
    if (tooMany.isPresent()) {
      return refused(tooMany.get());
    }
    Semaphore places = view.namespace().isPresent() ? freeOfNamespaces : free;
    if (!places.tryAcquire()) {
      return refused(
          Problem.tooMany("other what-if requests are being answered; retry in a second"));
    }
    Future<Answer> answered =
        Future.succeededFuture(body)
            .compose(
                posted ->
                    vertx.executeBlocking(
                        () -> answer(view, posted, Integer.parseInt(count), sent != null, format),
                        false));
    return answered
        .onComplete(done -> places.release())
        .recover(WhatIfAnswers::unavailableOnTimeout);
  }

  private static Future<Answer> refused(Problem problem) {
    return Future.succeededFuture(new Answer.Refused(problem));
  }

  /** Turns a timeout of the loop, which is then busy, into {@code 503 Service Unavailable}. */
  private static Future<Answer> unavailableOnTimeout(Throwable failure) {
    return failure.getCause() instanceof TimeoutException
        ? refused(Problem.unavailable("the extender is busy; retry in a second"))
        : Future.failedFuture(failure);
  }

  private Answer answer(View view, Buffer body, int count, boolean counts, Format format) {
    return switch (pods.parse(body, view)) {
      case Parsed.Refused(Problem problem) -> new Answer.Refused(problem);
      case Parsed.Valid pod when count > 1 && whatIf.get().isPacked(pod.pod()) ->
          new Answer.Refused(
              Problem.badRequest(
                  new Problem.Invalid(
                      COUNT,
                      String.valueOf(count),
                      "1, because the pod's policy is packed, which depends on the CPU and memory"
                          + " that each pod leaves")));
      case Parsed.Valid pod -> {
        var question =
            new WhatIf.Question(
                pod.pod(),
                pod.hasNodePreferences(),
                pod.host(),
                selections.apply(pod.selection()),
                count);
        Instant now = Instant.now().truncatedTo(ChronoUnit.MILLIS);
        WhatIf.Answer found = whatIf.get().answer(question, new BlockingOnLoop(loop.get()));
        yield new Answer.Found(
            format.of(WhatIfAnswer.of(pod.pod(), found, counts ? count : null, now)));
      }
    };
  }

  /** Runs on a worker, and blocks it until the loop has answered. */
  private record BlockingOnLoop(Loop loop) implements WhatIf.OnLoop {
    @Override
    public <T> T call(Supplier<T> question) {
      return loop.submit(question)
          .toCompletionStage()
          .toCompletableFuture()
          .orTimeout(WhatIf.PLACE_WITHIN_MS, TimeUnit.MILLISECONDS)
          .join();
    }
  }
}
