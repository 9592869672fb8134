package dev.tranche.extender.client;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import org.junit.jupiter.api.Test;

final class WorkersTest {
  private final Workers workers =
      new Workers("test", 1, 8, new ExtenderMetrics(new SimpleMeterRegistry()));

  private static Throwable failure(Future<?> call) throws Exception {
    return call.transform(done -> Future.succeededFuture(done.cause())).await(30, SECONDS);
  }

  /** The image leaves classes out, so a missing one is possible. */
  @Test
  void callThatEndsWithAnError_failsItsFuture_andTheNextIsMade() throws Exception {
    Future<String> call =
        workers.submit(
            () -> {
              throw new NoClassDefFoundError("left/Out");
            });
    assertThat(failure(call)).isInstanceOf(NoClassDefFoundError.class);
    assertThat(workers.submit(() -> "next").await(30, SECONDS)).isEqualTo("next");
  }
}
