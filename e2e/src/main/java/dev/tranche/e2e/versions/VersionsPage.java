package dev.tranche.e2e.versions;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The last section of {@code docs/versions.md}: the same results always give the same text. */
final class VersionsPage {
  private static final int DIGEST_SHOWN = 12;

  private static final String HEAD =
      """
      ## Kubernetes

      `./matrix` runs the same scenarios on each version and writes this section. The clusters consist of the stock programs, built from Kubernetes' own Go modules. A version without a row has not run.

      | version | programs | commit | date | scenarios passed | what differs from the row above |
      |---|---|---|---|---|---|
      """;

  private static final String COLUMNS =
      """

      *Programs* are the first digits of the SHA-256 of the [stand-in](../e2e/stand-in/README.md)'s programs; some modules are of [another patch](../e2e/stand-in/build/other-patches). A scenario passes if all its tests pass and none is skipped; the slow tests do not count here.

      ### Scenarios

      | scenario | tests |
      |---|---|
      """;

  private VersionsPage() {}

  static void write(Path root) throws IOException {
    String page = Files.readString(file(root));
    Files.writeString(
        file(root), page.substring(0, page.indexOf("## Kubernetes\n")) + render(root));
  }

  /** Renders the section of what the repository holds. */
  static String render(Path root) throws IOException {
    return render(VersionResult.readAll(root), Difference.readAll(root));
  }

  static Path file(Path root) {
    return root.resolve("docs/versions.md");
  }

  static String render(List<VersionResult> results, List<Difference> differences) {
    var page = new StringBuilder(HEAD);
    int earlier = results.isEmpty() ? 0 : results.getFirst().minor() - 1;
    for (VersionResult result : results) {
      page.append(row(result, earlier, differences));
      earlier = result.minor();
    }
    page.append(COLUMNS);
    Stream.concat(Scenario.ALL.stream(), Stream.of(Scenario.SLOW))
        .forEach(each -> page.append("| %s | %s |\n".formatted(each.name(), tests(each))));
    return page.toString();
  }

  private static String row(VersionResult result, int earlier, List<Difference> differences) {
    return "| [%s](kubernetes/1.%d.json) | `%s` | %s | %s | %s | %s |\n"
        .formatted(
            result.version().substring(1),
            result.minor(),
            result.programs().substring(0, DIGEST_SHOWN),
            result.commit(),
            result.date(),
            passed(result),
            differences.stream()
                .filter(difference -> difference.isBetween(earlier, result.minor()))
                .map(it -> "[%s](%s): %s".formatted(it.since(), it.reason(), it.what()))
                .collect(Collectors.joining("<br>")));
  }

  private static String passed(VersionResult result) {
    List<ScenarioResult> scenarios = result.scenarios();
    String count =
        "%d of %d, %d tests"
            .formatted(
                scenarios.stream().filter(ScenarioResult::hasPassed).count(),
                scenarios.size(),
                scenarios.stream().mapToInt(ScenarioResult::passed).sum());
    Stream<String> inSecondTry =
        scenarios.stream()
            .flatMap(scenario -> scenario.inSecondTry().stream())
            .map(test -> "`%s` in the second try".formatted(test));
    Stream<String> notPassed =
        scenarios.stream()
            .filter(scenario -> !scenario.hasPassed())
            .map(it -> "**%s**: %s".formatted(it.name(), String.join(", ", it.notPassed())));
    Stream<String> impossible =
        Scenario.ALL.stream()
            .filter(scenario -> !scenario.isPossibleOn(result.minor()))
            .map(it -> "%s: [not possible](%s)".formatted(it.name(), it.since().reason()));
    return Stream.of(Stream.of(count), inSecondTry, notPassed, impossible)
        .flatMap(lines -> lines)
        .collect(Collectors.joining("<br>"));
  }

  private static String tests(Scenario scenario) {
    return scenario.selectors().stream()
        .flatMap(
            selector ->
                selector.methods().isEmpty()
                    ? Stream.of(selector.className())
                    : selector.methods().stream().map(it -> selector.className() + "#" + it))
        .map("`%s`"::formatted)
        .collect(Collectors.joining(", "));
  }
}
