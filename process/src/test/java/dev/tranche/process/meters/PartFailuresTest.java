package dev.tranche.process.meters;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;

class PartFailuresTest {
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
  private final PartFailures<Part> failures =
      new PartFailures<>(
          new Meters(registry, "tranche.x"),
          "tranche.x.failures",
          "Help",
          Part.class,
          log,
          () -> nowMs);

  private enum Part {
    NODE
  }

  private void fail(String what) {
    failures.run(
        Part.NODE,
        what,
        () -> {
          throw new IllegalStateException("a bug");
        });
  }

  @Test
  void failure_isCountedEachTime_andLoggedOnceAnHour() {
    fail("node a");
    fail("node a");
    fail("node b");
    assertThat(lines).hasSize(2);
    nowMs += 3_600_000;
    fail("node a");
    assertThat(lines).hasSize(3);
    assertThat(registry.get("tranche.x.failures").tag("part", "node").counter().count())
        .isEqualTo(4);
  }

  @Test
  void failuresBeyondTheBound_forgetTheOldest() {
    for (int i = 0; i <= PartFailures.LOGGED_MAX; i++) {
      fail("node " + i);
    }
    lines.clear();
    fail("node " + PartFailures.LOGGED_MAX);
    assertThat(lines).isEmpty();
    fail("node 0");
    assertThat(lines).hasSize(1);
  }
}
