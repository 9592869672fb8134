package dev.tranche.e2e.bench.soak;

import dev.tranche.extender.invariant.Finding;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;

/** What did not hold, by invariant and subject; each is counted and printed once. */
final class Violations {
  private final Set<String> found = new HashSet<>();

  void add(Finding finding) {
    String name = finding.invariant().name().toLowerCase(Locale.ROOT);
    add(name, finding.subject(), finding.sentence());
  }

  synchronized void add(String name, String subject, String sentence) {
    if (found.add(name + " " + subject)) {
      System.out.println("violation of " + name + ": " + subject + ": " + sentence);
    }
  }

  synchronized int count() {
    return found.size();
  }
}
