package dev.tranche.webhook.pod;

import java.util.ArrayList;
import java.util.List;

/** What a pod's owner is told. A problem denies the pod; a warning comes with its admission. */
public final class Messages {
  private final List<Problem> problems = new ArrayList<>();
  private final List<String> warnings = new ArrayList<>();

  public void deny(Problem problem) {
    problems.add(problem);
  }

  public void warn(String warning) {
    warnings.add(warning);
  }

  public boolean denied() {
    return !problems.isEmpty();
  }

  /** Whether no further problem would be reported. */
  public boolean isFull() {
    return problems.size() > Denial.PER_POD_MAX;
  }

  public List<Problem> problems() {
    return problems;
  }

  public List<String> warnings() {
    return warnings;
  }
}
