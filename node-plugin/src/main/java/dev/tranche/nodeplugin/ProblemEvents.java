package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.events.EventBuffer;
import dev.tranche.nodeplugin.gpu.NodeProblem;
import dev.tranche.nodeplugin.gpu.NodeProblem.Reason;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Reports the problems of this node that last: as a gauge, and their begin, change and end as
 * events. Confined to the event loop.
 */
final class ProblemEvents {
  /** The shortest time between two events of a reason, so that a flapping one is no flood. */
  static final long REPORT_INTERVAL_MS = 60_000;

  private final EventBuffer events;
  private final Map<Reason, NodeProblem> current = new EnumMap<>(Reason.class);
  private final Map<Reason, Reported> reported = new EnumMap<>(Reason.class);

  /**
   * @param sentence empty: the end was reported
   */
  private record Reported(String sentence, long atMs) {}

  ProblemEvents(EventBuffer events, NodeMetrics metrics) {
    this.events = events;
    for (Reason reason : Reason.values()) {
      metrics.gauge(
          "tranche.node.problems",
          "Persistent problems of the node, by the reason of the event; 0: none.",
          () -> current.containsKey(reason) ? current.get(reason).count() : 0,
          "reason",
          reason.text());
    }
  }

  /**
   * Takes all problems, at most one for each reason, and writes the events that are due. A problem
   * that ends between two calls is not reported.
   */
  void update(List<NodeProblem> now, long nowMs) {
    current.clear();
    now.forEach(problem -> current.put(problem.reason(), problem));
    for (Reason reason : Reason.values()) {
      NodeProblem problem = current.get(reason);
      String sentence = problem == null ? "" : problem.sentence();
      Reported before = reported.getOrDefault(reason, new Reported("", nowMs - REPORT_INTERVAL_MS));
      if (!sentence.equals(before.sentence()) && nowMs - before.atMs() >= REPORT_INTERVAL_MS) {
        reported.put(reason, new Reported(sentence, nowMs));
        report(reason, sentence);
      }
    }
  }

  private void report(Reason reason, String sentence) {
    if (sentence.isEmpty()) {
      events.node("NodeProblemEnded", reason.text() + " is over", false);
    } else {
      events.node(reason.text(), sentence, true);
    }
  }
}
