package dev.tranche.webhook.pod;

import static java.util.stream.Collectors.joining;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** What a pod's owner is told. A problem denies the pod; a warning comes with its admission. */
public final class Messages {
  private final Set<String> problems = new LinkedHashSet<>();
  private final List<String> warnings = new ArrayList<>();
  private String reason = "";

  /** Adds a problem, unless the owner is told of enough others. */
  public void deny(Denial denial, Object... values) {
    if (!denied()) {
      reason = denial.toString();
    }
    if (!isFull()) {
      problems.add(denial.of(values));
    }
  }

  public void warn(Warning warning, Object... values) {
    warnings.add(warning.of(values));
  }

  public boolean denied() {
    return !problems.isEmpty();
  }

  /** Whether no further problem would be reported. */
  private boolean isFull() {
    return problems.size() > Denial.PER_POD_MAX;
  }

  /** Returns the denial of a pod with problems. The first one is its reason. */
  public Mutation.Denied denial() {
    String sentences = problems.stream().limit(Denial.PER_POD_MAX).collect(joining(" "));
    return new Mutation.Denied(
        isFull() ? sentences + " " + Denial.MORE.template() : sentences, reason);
  }

  public List<String> warnings() {
    return warnings;
  }
}
