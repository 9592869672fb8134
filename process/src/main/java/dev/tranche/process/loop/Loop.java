package dev.tranche.process.loop;

import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The one event loop that owns the Ledger; other threads use this class to read or change it. */
public final class Loop {
  private final Consumer<Runnable> tasks;

  public Loop(Context context) {
    this(task -> context.runOnContext(ignored -> task.run()));
  }

  /**
   * @param tasks runs one task after the other, each in a later turn
   */
  public Loop(Consumer<Runnable> tasks) {
    this.tasks = tasks;
  }

  public void run(Runnable task) {
    tasks.accept(task);
  }

  /** Runs a task on the loop and returns its result; the future completes there. */
  public <T> Future<T> submit(Supplier<T> task) {
    Promise<T> answer = Promise.promise();
    run(
        () -> {
          try {
            answer.complete(task.get());
          } catch (Throwable bug) {
            // Errors too: the caller waits for the future.
            answer.fail(bug);
          }
        });
    return answer.future();
  }

  /** Returns a future with the same result that completes on the loop. */
  public <T> Future<T> completeOnLoop(Future<T> elsewhere) {
    Promise<T> promise = Promise.promise();
    elsewhere.onComplete(result -> run(() -> promise.handle(result)));
    return promise.future();
  }
}
