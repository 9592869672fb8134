package dev.tranche.process.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;

final class LineLimiterTest {
  private final AtomicLong nowMs = new AtomicLong();

  /** The values in the lines that it logs itself. */
  private final List<List<Object>> logged = new ArrayList<>();

  private final Logger log =
      (Logger)
          Proxy.newProxyInstance(
              getClass().getClassLoader(),
              new Class<?>[] {Logger.class},
              (proxy, method, args) -> {
                logged.add(List.of((Object[]) args[1]));
                return null;
              });

  private final LineLimiter lines = new LineLimiter(log, "node", nowMs::get);

  @Test
  void flood_isCounted_andOthersAreLogged() {
    assertThat(acquired("flood", 1_000)).isEqualTo(LineLimiter.LINES_MAX);
    assertThat(acquired("honest", 3)).isEqualTo(3);
    nowMs.set(59_999);
    assertThat(acquired("flood", 1)).isZero();
    assertThat(logged).isEmpty();
    nowMs.set(60_000);
    lines.endPeriods();
    assertThat(logged)
        .containsExactly(
            List.of(981L, "node", "flood", LineLimiter.LINES_MAX, LineLimiter.PERIOD_S));
    assertThat(acquired("flood", 1)).isEqualTo(1);
  }

  @Test
  void sendersBeyondTheLimit_shareOne() {
    for (int i = 0; i < LineLimiter.SENDERS_MAX; i++) {
      assertThat(lines.tryAcquire("sender-" + i)).isTrue();
    }
    assertThat(acquired("one more", 1) + acquired("another", 1_000))
        .isEqualTo(LineLimiter.LINES_MAX);
    assertThat(acquired("sender-0", 1)).isEqualTo(1);
    nowMs.set(60_000);
    assertThat(acquired("another", 1_000)).isEqualTo(LineLimiter.LINES_MAX);
  }

  private long acquired(String sender, int times) {
    return IntStream.range(0, times).filter(i -> lines.tryAcquire(sender)).count();
  }
}
