package dev.tranche.nodeplugin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.events.EventBuffer;
import dev.tranche.nodeplugin.gpu.NodeProblem;
import dev.tranche.nodeplugin.gpu.NodeProblem.Reason;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import java.util.List;
import org.junit.jupiter.api.Test;

class ProblemEventsTest {
  private final NodeMetrics metrics = new NodeMetrics();
  private final EventBuffer events = new EventBuffer(metrics, () -> 0, () -> {});
  private final ProblemEvents problems = new ProblemEvents(events, metrics);

  private static List<NodeProblem> load(String sentence) {
    return List.of(new NodeProblem(Reason.GPU_LOAD_UNREADABLE, 3, sentence));
  }

  private List<String> told() {
    return events.newest().stream().map(e -> e.getReason() + ": " + e.getMessage()).toList();
  }

  @Test
  void problem_isToldWhenItBeginsAndEnds_andCountedMeanwhile() {
    problems.update(load("three GPUs"), 0);
    problems.update(load("three GPUs"), 500_000);
    assertThat(metrics.scrape()).contains("problems{reason=\"GpuLoadUnreadable\"} 3.0");
    problems.update(List.of(), 1_000_000);
    assertThat(metrics.scrape()).contains("problems{reason=\"GpuLoadUnreadable\"} 0.0");
    assertThat(told())
        .containsExactly(
            "GpuLoadUnreadable: three GPUs", "NodeProblemEnded: GpuLoadUnreadable is over");
  }

  @Test
  void flappingProblem_isToldOnceAMinute() {
    for (int second = 0; second < 120; second++) {
      problems.update(second % 2 == 0 ? load("a") : List.of(), second * 1_000L);
    }
    assertThat(told()).hasSizeLessThanOrEqualTo(2);
  }
}
