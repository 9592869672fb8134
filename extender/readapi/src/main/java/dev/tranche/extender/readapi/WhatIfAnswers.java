package dev.tranche.extender.readapi;

import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.readapi.Answers.Answer;
import dev.tranche.extender.readapi.PodBody.PostedPod;
import dev.tranche.extender.readapi.query.Parameters;
import dev.tranche.extender.readapi.query.Parameters.Field;
import dev.tranche.extender.readapi.query.Parameters.Parsed;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.readapi.row.WhatIfAnswer;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.process.TokenBucket;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/** Answers where a pod would go; limits concurrent requests and requests per second. */
final class WhatIfAnswers {
  /** Each request looks at every node on the extender's loop. */
  static final int PER_SECOND_MAX = 10;

  static final int AT_ONCE_MAX = 2;

  private static final String COUNT = "count";
  private static final List<Field> COUNT_FIELD = List.of(Field.any(COUNT));

  private final Vertx vertx;
  private final ReadApi.Sources sources;
  private final PodBody pods;
  private final TokenBucket rate;
  private final Semaphore places = new Semaphore(AT_ONCE_MAX);

  WhatIfAnswers(Vertx vertx, ReadApi.Sources sources) {
    this.vertx = vertx;
    this.sources = sources;
    this.pods = new PodBody(sources.resources());
    this.rate = new TokenBucket(PER_SECOND_MAX, PER_SECOND_MAX, sources.core().clockMs);
  }

  Future<Answer> of(View view, MultiMap parameters, Buffer body) {
    return Answer.of(
        Parameters.read(parameters, COUNT_FIELD).then(WhatIfAnswers::count),
        copies -> limited(view, copies, body));
  }

  /** Returns the number of copies; empty if the request has none. */
  private static Parsed<OptionalInt> count(Map<String, String> values) {
    String count = values.get(COUNT);
    if (count == null) {
      return new Parsed.Valid<>(OptionalInt.empty());
    }
    return count.matches("[1-9]\\d{0,3}") && Integer.parseInt(count) <= WhatIf.COUNT_MAX
        ? new Parsed.Valid<>(OptionalInt.of(Integer.parseInt(count)))
        : Parsed.refused(COUNT, count, "a whole number from 1 to " + WhatIf.COUNT_MAX);
  }

  private Future<Answer> limited(View view, OptionalInt copies, Buffer body) {
    if (!rate.tryAcquire()) {
      return Answer.refused(Problem.tooMany(PER_SECOND_MAX, "what-if requests"));
    }
    if (!places.tryAcquire()) {
      return Answer.refused(
          Problem.tooMany("other what-if requests are being answered; retry in a second"));
    }
    return vertx
        .executeBlocking(() -> pods.parse(body, view), false)
        .compose(parsed -> Answer.of(Objects.requireNonNull(parsed), pod -> answer(pod, copies)))
        .onComplete(done -> places.release())
        .recover(WhatIfAnswers::unavailableOnTimeout);
  }

  /** Turns a timeout of the loop, which is then busy, into {@code 503 Service Unavailable}. */
  private static Future<Answer> unavailableOnTimeout(Throwable failure) {
    return failure.getCause() instanceof TimeoutException
        ? Answer.refused(Problem.unavailable("the extender is busy; retry in a second"))
        : Future.failedFuture(failure);
  }

  private Future<Answer> answer(PostedPod posted, OptionalInt copies) {
    WhatIf whatIf = sources.whatIf();
    Loop loop = sources.loop();
    PodFacts pod = posted.pod();
    int count = copies.orElse(1);
    if (count > 1 && whatIf.isPacked(pod)) {
      return Answer.refused(
          Problem.badRequest(
              new Problem.Invalid(
                  COUNT,
                  String.valueOf(count),
                  "1, because the pod's policy is packed, which depends on the CPU and memory"
                      + " that each pod leaves")));
    }
    NodeFilter filter = sources.core().traits.filter(posted.selection());
    Instant now = Instant.now().truncatedTo(ChronoUnit.MILLIS);
    return sources
        .explain()
        .nodes(pod, loop)
        .map(nodes -> new WhatIf.Question(pod, posted.host(), filter, nodes, count))
        .compose(
            question ->
                vertx.executeBlocking(
                    () -> {
                      WhatIf.Answer found = whatIf.answer(question, new BlockingOnLoop(loop));
                      return new Answer.Found(WhatIfAnswer.of(pod, found, copies, now));
                    },
                    false));
  }

  /** Runs on a worker, and blocks it until the loop has answered. */
  private record BlockingOnLoop(Loop loop) implements WhatIf.OnLoop {
    @Override
    public <T> T call(Supplier<T> work) {
      return loop.submit(work)
          .toCompletionStage()
          .toCompletableFuture()
          .orTimeout(WhatIf.PLACE_WITHIN_MS, TimeUnit.MILLISECONDS)
          .join();
    }
  }
}
