package dev.tranche.process.meters;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;

class FailuresTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final List<Object> lines = new ArrayList<>();
  private final Logger log =
      (Logger)
          Proxy.newProxyInstance(
              Logger.class.getClassLoader(),
              new Class<?>[] {Logger.class},
              (proxy, method, args) -> {
                lines.add(args[1]);
                return null;
              });
  private long nowMs = 1_000;
  private final Failures failures =
      new Failures(
          part -> registry.counter("tranche.x.failures", "part", part),
          log,
          () -> nowMs,
          Failures.NODE,
          Failures.TASK);

  private void fail(String what) {
    failures.onNode(
        what,
        () -> {
          throw new IllegalStateException("a bug");
        });
  }

  @Test
  void failure_isCountedEachTime_andLoggedOnceAnHour() {
    fail("a");
    fail("a");
    fail("b");
    assertThat(lines).hasSize(2);
    nowMs += 3_600_000;
    fail("a");
    assertThat(lines).hasSize(3);
    assertThat(registry.get("tranche.x.failures").tag("part", "node").counter().count())
        .isEqualTo(4);
  }

  @Test
  void failuresBeyondTheBound_areCounted() {
    int parts = Failures.LOGGED_MAX + 10;
    for (int round = 0; round < 3; round++) {
      for (int i = 0; i < parts; i++) {
        fail("" + i);
      }
    }
    assertThat(lines).hasSize(Failures.LOGGED_MAX);
    assertThat(registry.get("tranche.x.failures").tag("part", "node").counter().count())
        .isEqualTo(3 * parts);
    lines.clear();
    nowMs += 3_600_000;
    fail("" + parts);
    assertThat(lines).containsExactly("node " + parts);
  }

  @Test
  void rejectedWork_isNoFailureWhileTheProcessEnds_butOtherBugsAre() {
    var rejected = new RejectedExecutionException("closed");
    failures.failed(Failures.NODE, "survey", rejected);
    assertThat(lines).as("a full executor of a running process").hasSize(1);
    failures.stopping();
    nowMs += 3_600_000;
    failures.failed(Failures.NODE, "survey", rejected);
    assertThat(lines).hasSize(1);
    fail("a");
    assertThat(lines).hasSize(2);
    assertThat(registry.get("tranche.x.failures").tag("part", "node").counter().count())
        .isEqualTo(2);
  }
}
