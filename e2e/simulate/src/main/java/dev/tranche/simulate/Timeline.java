package dev.tranche.simulate;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Prints a history so that a person can follow it: what went wrong, and what concerns it. */
final class Timeline {
  private static final int LINES_MAX = 120;
  private static final Pattern NAMES = Pattern.compile("\\b(?:u\\d+|GPU-\\d+-\\d+|ns/[\\w-]+)\\b");

  private Timeline() {}

  static String of(Outcome outcome) {
    String violation =
        outcome.violation().map(found -> found.subject() + " " + found.sentence()).orElse("");
    Set<String> names = names(violation);
    List<History.Line> lines = outcome.history().lines();
    // What shares a GPU with the subject concerns it, too.
    for (History.Line line : lines) {
      if (names.stream().anyMatch(name -> has(line, name)) && line.what().contains("GPU-")) {
        names.addAll(names(line.what()));
      }
    }
    List<String> shown =
        lines.stream()
            .filter(
                line ->
                    line.who().equals("FAULT")
                        || line.who().equals("VIOLATION")
                        || line.what().startsWith("records of")
                        || line.what().endsWith("leads")
                        || line.what().endsWith("leading")
                        || line.what().endsWith("starts")
                        || line.what().endsWith("is killed")
                        || names.stream().anyMatch(name -> has(line, name)))
            .filter(line -> line.atMs() > 2_000 || !line.what().endsWith("starts"))
            .map(History.Line::toString)
            .toList();
    List<String> last = shown.subList(Math.max(0, shown.size() - LINES_MAX), shown.size());
    return last.stream().collect(Collectors.joining("\n"));
  }

  private static Set<String> names(String text) {
    return NAMES
        .matcher(text)
        .results()
        .map(found -> found.group())
        .collect(Collectors.toCollection(HashSet::new));
  }

  private static boolean has(History.Line line, String name) {
    int at = line.what().indexOf(name);
    int end = at + name.length();
    return at >= 0
        && (end == line.what().length() || !Character.isLetterOrDigit(line.what().charAt(end)));
  }
}
