package dev.tranche.extender.stream;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Collects events for a moment and hands them to another loop together and in order. A thousand
 * wake-ups a second, for one report each, would cost that loop as much as the reports. Confined to
 * one event loop.
 */
final class EventBatcher implements Executor {
  private static final Logger LOG = LoggerFactory.getLogger(EventBatcher.class);

  /** The most events per task, so that the other loop can run other work between two tasks. */
  static final int AT_ONCE_MAX = 32;

  private final Executor later;
  private final Executor other;
  private List<Runnable> waiting = new ArrayList<>();

  /**
   * @param later runs a task on this loop, a moment later
   * @param other runs a task on the other loop
   */
  EventBatcher(Executor later, Executor other) {
    this.later = later;
    this.other = other;
  }

  @Override
  public void execute(Runnable task) {
    if (waiting.isEmpty()) {
      later.execute(this::flush);
    }
    waiting.add(task);
  }

  /** Hands over the collected events now. */
  void flush() {
    List<Runnable> all = waiting;
    waiting = new ArrayList<>();
    for (int from = 0; from < all.size(); from += AT_ONCE_MAX) {
      List<Runnable> some = all.subList(from, Math.min(all.size(), from + AT_ONCE_MAX));
      other.execute(() -> some.forEach(EventBatcher::run));
    }
  }

  /**
   * Runs a task. A failure, even an Error, must not stop the following tasks, which are other
   * nodes'.
   */
  private static void run(Runnable task) {
    try {
      task.run();
    } catch (Throwable bug) {
      LOG.error("cannot apply what a node's stream sent", bug);
    }
  }
}
