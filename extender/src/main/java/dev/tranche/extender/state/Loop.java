package dev.tranche.extender.state;

import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.function.Supplier;

/** The one event loop that owns the Ledger; others come here to read or change it. */
public final class Loop {
  private final Context context;

  public Loop(Context context) {
    this.context = context;
  }

  public void run(Runnable task) {
    context.runOnContext(ignored -> task.run());
  }

  /** Works something out on the loop; completes there. */
  public <T> Future<T> ask(Supplier<T> question) {
    Promise<T> answer = Promise.promise();
    run(
        () -> {
          try {
            answer.complete(question.get());
          } catch (Throwable bug) {
            // Errors too: the one who waits must hear of it.
            answer.fail(bug);
          }
        });
    return answer.future();
  }

  /** The same result, completed on the loop. */
  public <T> Future<T> here(Future<T> elsewhere) {
    Promise<T> promise = Promise.promise();
    elsewhere.onComplete(result -> run(() -> promise.handle(result)));
    return promise.future();
  }
}
