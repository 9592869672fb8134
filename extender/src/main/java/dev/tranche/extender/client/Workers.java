package dev.tranche.extender.client;

import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Runs blocking API calls off the event loops, with a bounded number of workers and a bounded
 * queue. Idle workers end, and none keeps the process from its end.
 */
public final class Workers {
  private final ThreadPoolExecutor pool;
  private final Counter rejected;

  /**
   * @param name of the queue, a metric's label
   */
  public Workers(String name, int concurrent, int waiting, ExtenderMetrics metrics) {
    pool =
        new ThreadPoolExecutor(
            concurrent,
            concurrent,
            30,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(waiting),
            Thread.ofVirtual().name(name + "-", 0).factory());
    pool.allowCoreThreadTimeOut(true);
    rejected =
        metrics.counter(
            "tranche.extender.api.rejected",
            "Calls to the API server that were dropped because too many were queued.",
            "queue",
            name);
  }

  /** Completes on a worker; fails at once when the queue is full. */
  public <T> Future<T> submit(Callable<T> call) {
    Promise<T> promise = Promise.promise();
    try {
      pool.execute(() -> complete(promise, call));
    } catch (RejectedExecutionException full) {
      rejected.increment();
      promise.fail("too many calls to the API server are queued");
    } catch (Throwable unstarted) {
      // For instance, no thread could be started; the future must fail even then.
      promise.tryFail(unstarted);
    }
    return promise.future();
  }

  private static <T> void complete(Promise<T> promise, Callable<T> call) {
    T result;
    try {
      result = call.call();
    } catch (Throwable failed) {
      // Errors too: until the future completes, a reservation stays and wake-ups pause.
      promise.fail(failed);
      return;
    }
    promise.complete(result);
  }

  /**
   * Accepts no further calls and waits for those already accepted.
   *
   * @return false if some are still under way
   */
  public boolean drain(Duration limit) {
    pool.shutdown();
    try {
      return pool.awaitTermination(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
