package dev.tranche.nodeplugin.mps;

import static java.util.stream.Collectors.joining;

import java.util.List;
import java.util.stream.Stream;

/** The status of a node's control daemons, which their keeper reports to the plugin of the node. */
public sealed interface MpsStatus {
  /**
   * All daemons answer.
   *
   * @param lines {@link MpsPlan#lines} that they serve
   */
  record Serving(List<String> lines) implements MpsStatus {}

  /** Not all daemons serve, and why. */
  record Failing(String reason) implements MpsStatus {}

  /** There is no status. */
  record None() implements MpsStatus {}

  /** Returns the content of the status file. */
  static String text(MpsStatus status) {
    return switch (status) {
      case Serving serving ->
          Stream.concat(Stream.of("serving"), serving.lines().stream())
              .collect(joining("\n", "", "\n"));
      case Failing failing -> "failing\n" + failing.reason().replace('\n', ' ') + "\n";
      case None ignored -> "";
    };
  }

  /** Parses the content of the status file; unknown content is {@link None}. */
  static MpsStatus parse(String text) {
    List<String> lines = text.lines().toList();
    if (lines.isEmpty()) {
      return new None();
    }
    List<String> rest = lines.subList(1, lines.size());
    return switch (lines.getFirst()) {
      case "serving" -> new Serving(rest);
      case "failing" -> new Failing(String.join(" ", rest));
      default -> new None();
    };
  }
}
