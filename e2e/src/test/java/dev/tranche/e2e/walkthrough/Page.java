package dev.tranche.e2e.walkthrough;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A page of {@code docs/walkthroughs}, read for the commands that its reader would type. */
record Page(String text) {
  private static final Pattern SECTION = Pattern.compile("(?m)^## (.+)\\R((?s:.*?))(?=^## |\\z)");
  private static final Pattern COMMANDS = Pattern.compile("(?m)^```sh\\R((?s:.*?))^```$");

  static Page of(Path root, String file) {
    try {
      return new Page(Files.readString(root.resolve("docs/walkthroughs").resolve(file)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  List<String> sections() {
    return SECTION.matcher(text).results().map(section -> section.group(1)).toList();
  }

  /**
   * All commands under one heading, in their order.
   *
   * @throws IllegalArgumentException if there is no such heading, or no command under it
   */
  String commands(String heading) {
    String body =
        SECTION
            .matcher(text)
            .results()
            .filter(section -> section.group(1).equals(heading))
            .map(section -> section.group(2))
            .findFirst()
            .orElseThrow(() -> new IllegalArgumentException("no '" + heading + "'; " + sections()));
    var commands = COMMANDS.matcher(body).results().map(Page::command).toList();
    if (commands.isEmpty()) {
      throw new IllegalArgumentException("no commands under '" + heading + "'");
    }
    return commands.stream().collect(Collectors.joining("\n"));
  }

  private static String command(MatchResult block) {
    return block.group(1);
  }
}
