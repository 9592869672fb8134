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

  /** Also of problems with the same sentence. */
  private int denials;

  /** Adds a problem, unless the owner is told of enough others. */
  public void deny(Denial denial, Object... values) {
    if (denials++ == 0) {
      reason = denial.toString();
    }
    if (problems.size() <= Denial.PER_POD_MAX) {
      problems.add(denial.of(values));
    }
  }

  public void warn(Warning warning, Object... values) {
    warnings.add(warning.of(values));
  }

  public boolean denied() {
    return !problems.isEmpty();
  }

  /** Whether to look for no further problem: a pod may have hundreds of thousands. */
  public boolean isFull() {
    return denials > Denial.PER_POD_MAX;
  }

  /** Returns the denial of a pod with problems. The first one is its reason. */
  public Mutation.Denied denial() {
    String sentences = problems.stream().limit(Denial.PER_POD_MAX).collect(joining(" "));
    boolean more = problems.size() > Denial.PER_POD_MAX;
    return new Mutation.Denied(more ? sentences + " " + Denial.MORE.template() : sentences, reason);
  }

  public List<String> warnings() {
    return warnings;
  }
}
