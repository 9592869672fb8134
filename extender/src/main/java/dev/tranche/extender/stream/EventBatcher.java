package dev.tranche.extender.stream;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands the events of a moment to another loop together and in order. A thousand wake-ups a second,
 * for one report each, would cost that loop as much as the reports. Confined to one event loop.
 */
final class EventBatcher implements Executor {
  private static final Logger LOG = LoggerFactory.getLogger(EventBatcher.class);

  /** Between so many, that loop may turn to something else. */
  static final int AT_ONCE_MAX = 32;

  private final Executor later;
  private final Executor other;
  private List<Runnable> waiting = new ArrayList<>();

  /**
   * @param later runs on this loop what is given to it, a moment later
   */
  EventBatcher(Executor later, Executor other) {
    this.later = later;
    this.other = other;
  }

  @Override
  public void execute(Runnable task) {
    if (waiting.isEmpty()) {
      later.execute(this::hand);
    }
    waiting.add(task);
  }

  /** At once, without what may come within the moment. */
  void hand() {
    List<Runnable> all = waiting;
    waiting = new ArrayList<>();
    for (int from = 0; from < all.size(); from += AT_ONCE_MAX) {
      List<Runnable> some = all.subList(from, Math.min(all.size(), from + AT_ONCE_MAX));
      other.execute(() -> some.forEach(EventBatcher::run));
    }
  }

  /** What fails must not keep the next from being run; Errors too, since those are other nodes'. */
  private static void run(Runnable task) {
    try {
      task.run();
    } catch (Throwable bug) {
      LOG.error("cannot apply what a node's stream sent", bug);
    }
  }
}
