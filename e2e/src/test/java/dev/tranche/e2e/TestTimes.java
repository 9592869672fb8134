package dev.tranche.e2e;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/**
 * Prints a line for each test with a cluster as it ends; the others are too many and too quick. The
 * JUnit Platform loads it by its service file.
 */
public final class TestTimes implements TestExecutionListener {
  private final Map<String, Instant> started = new ConcurrentHashMap<>();
  private final AtomicInteger ended = new AtomicInteger();

  @Override
  public void executionStarted(TestIdentifier test) {
    started.put(test.getUniqueId(), Instant.now());
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    Instant since = started.remove(test.getUniqueId());
    if (since != null
        && test.isTest()
        && test.getSource().orElse(null) instanceof MethodSource method
        && method.getClassName().endsWith("E2E")) {
      System.out.printf(
          "[%d] %-6s %6.1f s  %s#%s%n",
          ended.incrementAndGet(),
          result.getStatus() == Status.SUCCESSFUL ? "ok" : "FAILED",
          Duration.between(since, Instant.now()).toMillis() / 1000.0,
          method.getClassName().replaceFirst(".*\\.", ""),
          method.getMethodName());
    }
  }
}
