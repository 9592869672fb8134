package dev.tranche.nodeplugin.mps;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the control daemons' keeper says of them to the plugin of the same node. */
public sealed interface MpsStatus {
  /**
   * All of them answer.
   *
   * @param lines {@link MpsPlan#lines} that they serve
   */
  record Serving(List<String> lines) implements MpsStatus {
    public Serving {
      lines = List.copyOf(lines);
    }
  }

  /** Not all of them, and why. */
  record Failing(String reason) implements MpsStatus {}

  /** Nobody says anything. */
  record Silent() implements MpsStatus {}

  /** As the status file has it. */
  static String text(MpsStatus status) {
    return switch (status) {
      case Serving serving ->
          Stream.concat(Stream.of("serving"), serving.lines().stream())
              .collect(Collectors.joining("\n", "", "\n"));
      case Failing failing -> "failing\n" + failing.reason().replace('\n', ' ') + "\n";
      case Silent ignored -> "";
    };
  }

  /** Reads it back; what is not understood is silence. */
  static MpsStatus parse(String text) {
    List<String> lines = text.lines().toList();
    if (lines.isEmpty()) {
      return new Silent();
    }
    List<String> rest = lines.subList(1, lines.size());
    return switch (lines.getFirst()) {
      case "serving" -> new Serving(rest);
      case "failing" -> new Failing(String.join(" ", rest));
      default -> new Silent();
    };
  }
}
