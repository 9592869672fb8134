package dev.tranche.e2e.bench.soak;

import dev.tranche.extender.invariant.Finding;
import dev.tranche.extender.invariant.Invariant;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** What did not hold, by invariant and subject; each is counted and printed once. */
final class Violations {
  /** What only a soak checks. */
  private static final List<String> OWN =
      List.of(
          "unmutated_share",
          "device_given_twice",
          "certificate_error",
          "process_grows",
          "part_not_back",
          "fault_never_struck");

  private final Map<String, Set<String>> subjects = new LinkedHashMap<>();

  Violations() {
    Stream.concat(Stream.of(Invariant.values()).map(Violations::name), OWN.stream())
        .forEach(name -> subjects.put(name, new LinkedHashSet<>()));
  }

  void add(Finding finding) {
    add(name(finding.invariant()), finding.subject(), finding.sentence());
  }

  synchronized void add(String name, String subject, String sentence) {
    if (subjects.computeIfAbsent(name, unknown -> new LinkedHashSet<>()).add(subject)) {
      System.out.println("violation of " + name + ": " + subject + ": " + sentence);
    }
  }

  /** Returns the number of subjects by name, also where there are none. */
  synchronized Map<String, Integer> counts() {
    var counts = new LinkedHashMap<String, Integer>();
    subjects.forEach((name, found) -> counts.put(name, found.size()));
    return counts;
  }

  private static String name(Invariant invariant) {
    return invariant.name().toLowerCase(Locale.ROOT);
  }
}
