package dev.tranche.e2e;

import java.io.PrintStream;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Prints a line for each scenario as it ends, and the slowest when all have ended. The JUnit
 * Platform loads it by its service file.
 */
public final class TestTimes implements TestExecutionListener {
  private static final String SCENARIO = "E2E";
  private static final int SLOWEST_SHOWN = 10;

  private final PrintStream out;
  private final Map<String, Instant> started = new ConcurrentHashMap<>();
  private final List<Time> scenarios = Collections.synchronizedList(new ArrayList<>());
  private final List<Time> classes = Collections.synchronizedList(new ArrayList<>());
  private final AtomicInteger ended = new AtomicInteger();

  private record Time(String name, Duration took) {
    String line() {
      return "%6.1f s  %s".formatted(took.toMillis() / 1000.0, name);
    }
  }

  public TestTimes() {
    this(System.out);
  }

  TestTimes(PrintStream out) {
    this.out = out;
  }

  @Override
  public void testPlanExecutionStarted(TestPlan plan) {
    ended.set(0);
  }

  @Override
  public void executionStarted(TestIdentifier test) {
    started.put(test.getUniqueId(), Instant.now());
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    Instant since = started.remove(test.getUniqueId());
    TestSource source = test.getSource().orElse(null);
    if (since == null) {
      return;
    }
    Duration took = Duration.between(since, Instant.now());
    switch (source) {
      case MethodSource method when scenario(test) ->
          ended(
              new Time(simple(method.getClassName()) + "#" + method.getMethodName(), took), result);
      case ClassSource type when type.getClassName().endsWith(SCENARIO) ->
          classes.add(new Time(simple(type.getClassName()), took));
      case null, default -> {}
    }
  }

  private void ended(Time time, TestExecutionResult result) {
    String word = result.getStatus() == Status.SUCCESSFUL ? "ok" : "FAILED";
    out.printf("[%d] %-6s %s%n", ended.incrementAndGet(), word, time.line());
    scenarios.add(time);
  }

  @Override
  public void testPlanExecutionFinished(TestPlan plan) {
    slowest("slowest scenarios:", scenarios);
    slowest("slowest classes, with what they set up:", classes);
  }

  private void slowest(String title, List<Time> times) {
    if (times.isEmpty()) {
      return;
    }
    out.println(title);
    times.stream()
        .sorted(Comparator.comparing(Time::took).reversed())
        .limit(SLOWEST_SHOWN)
        .forEach(time -> out.println(time.line()));
    times.clear();
  }

  /** A test with a cluster; the others are too many and too quick for a line each. */
  private static boolean scenario(TestIdentifier test) {
    return test.isTest()
        && test.getSource().orElse(null) instanceof MethodSource method
        && method.getClassName().endsWith(SCENARIO);
  }

  private static String simple(String className) {
    return className.substring(className.lastIndexOf('.') + 1);
  }
}
