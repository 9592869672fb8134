package dev.tranche.extender.readapi;

import dev.tranche.extender.explain.InvariantCheck;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Judges the invariants every {@link #EVERY_MS}, whether or not anybody asks. */
final class InvariantSampler {
  static final long EVERY_MS = 15_000;

  /** Until the state is complete. */
  private static final long AGAIN_MS = 1_000;

  private static final Logger LOG = LoggerFactory.getLogger(InvariantSampler.class);

  private final Vertx vertx;
  private final Loop loop;

  /** Called on the loop; while anything is missing, nothing is judged. */
  private final Supplier<Optional<String>> notReady;

  /** Confined to the loop. */
  private final InvariantCheck check;

  private volatile long broken;

  InvariantSampler(Vertx vertx, ReadApi.Sources sources) {
    this.vertx = vertx;
    this.loop = sources.loop();
    this.notReady = sources.notReady();
    this.check = new InvariantCheck(sources.core().ledger, sources.core().clockMs);
  }

  void start() {
    loop.submit(this::begins)
        .compose(ready -> ready ? steps() : Future.succeededFuture())
        .compose(done -> loop.submit(check::latest))
        .onSuccess(round -> broken = round.map(InvariantCheck.Round::broken).orElse(0L))
        .onFailure(bug -> LOG.error("cannot judge the invariants", bug))
        .onComplete(
            judged -> {
              boolean complete = judged.succeeded() && judged.result().isPresent();
              vertx.setTimer(complete ? EVERY_MS : AGAIN_MS, due -> start());
            });
  }

  private boolean begins() {
    boolean ready = notReady.get().isEmpty();
    if (!ready) {
      check.reset();
    }
    return ready;
  }

  private Future<Void> steps() {
    return loop.submit(check::step).compose(more -> more ? steps() : Future.succeededFuture());
  }

  /** Returns how many are broken by the last round. */
  long broken() {
    return broken;
  }

  Future<Optional<InvariantCheck.Round>> latest() {
    return loop.submit(check::latest);
  }
}
