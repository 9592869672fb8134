package dev.tranche.e2e.versions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.e2e.cluster.KubernetesVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VersionsPageTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final String PROGRAMS = "0123456789abcdef".repeat(4);
  private static final String ISSUE = "https://github.com/kubernetes/kubernetes/issues/137534";
  private static final Difference SOCKETS = new Difference("1.34", "It refuses.", ISSUE);
  private static final Difference HEALTH = new Difference("1.36", "It is shown.", ISSUE);

  private static VersionResult result(String version, ScenarioResult... scenarios) {
    return new VersionResult(version, PROGRAMS, "abc1234", "2026-11-26", List.of(scenarios));
  }

  private static ScenarioResult passing(String name, String... inSecondTry) {
    return new ScenarioResult(name, 4, List.of(inSecondTry), List.of());
  }

  private static List<String> rows(VersionResult... results) {
    return VersionsPage.render(List.of(results), List.of(SOCKETS, HEALTH))
        .lines()
        .filter(line -> line.startsWith("| [1."))
        .toList();
  }

  @Test
  void page_isThatOfTheRecordedRuns() throws IOException {
    assertThat(Files.readString(VersionsPage.file(ROOT)))
        .as("./matrix --page rewrites it")
        .endsWith("\n" + VersionsPage.render(ROOT));
  }

  /** A commit with a plus had changes that nobody can look up. */
  @Test
  void recordedRuns_areOfCommits_andOfAllScenarios() throws IOException {
    assertThat(VersionResult.readAll(ROOT))
        .isNotEmpty()
        .allSatisfy(
            run -> {
              assertThat(run.commit()).matches("[0-9a-f]{7,40}");
              assertThat(run.programs()).matches("[0-9a-f]{64}");
              assertThat(run.date()).matches("\\d{4}-\\d\\d-\\d\\d");
              assertThat(run.scenarios())
                  .extracting(ScenarioResult::name)
                  .containsExactlyElementsOf(
                      Scenario.on(run.minor()).stream().map(Scenario::name).toList());
            });
  }

  @Test
  void row_hasAllColumns_andWhatHasChangedSinceTheRowAbove() {
    assertThat(
            rows(
                result("v1.34.4", passing("a"), passing("b")),
                result("v1.35.4", passing("a"), passing("b")),
                result("v1.37.2", passing("a"), passing("b"))))
        .containsExactly(
            "| [1.34.4](kubernetes/1.34.json) | `0123456789ab` | abc1234 | 2026-11-26 | 2 of 2, 8"
                + " tests | [1.34]("
                + ISSUE
                + "): It refuses. |",
            "| [1.35.4](kubernetes/1.35.json) | `0123456789ab` | abc1234 | 2026-11-26 | 2 of 2, 8"
                + " tests |  |",
            "| [1.37.2](kubernetes/1.37.json) | `0123456789ab` | abc1234 | 2026-11-26 | 2 of 2, 8"
                + " tests | [1.36]("
                + ISSUE
                + "): It is shown. |");
  }

  @Test
  void row_saysWhatDidNotPass_andWhatPassedInItsSecondTry() {
    var bad = new ScenarioResult("MPS", 0, List.of(), List.of("AE2E#m was skipped"));
    assertThat(rows(result("v1.36.3", passing("a", "BE2E#n"), bad)))
        .singleElement()
        .asString()
        .contains(
            "| 1 of 2, 4 tests<br>`BE2E#n` in the second try<br>**MPS**: AE2E#m was skipped |");
  }

  @Test
  void row_saysWhichScenariosAreNotPossible() {
    assertThat(rows(result("v1.33.13", passing("a"))))
        .singleElement()
        .asString()
        .contains(
            "<br>void without a webhook: [not"
                + " possible](https://github.com/kubernetes/enhancements/issues/3962) |");
    assertThat(rows(result("v1.34.4", passing("a")))).noneMatch(row -> row.contains("possible"));
  }

  @Test
  void page_namesTheTestsOfEachScenario() {
    assertThat(VersionsPage.render(List.of(), List.of()))
        .contains("| MPS | `WalkthroughDE2E` |")
        .contains("| preemption | `PreemptionE2E`, `ConstrainedPreemptionE2E` |")
        .contains("`ConfigE2E#editBelowAFullGpu_leavesTheIdleGpuUsableAtOnce`");
  }

  @Test
  void resultOfOneVersion_leavesThoseOfOthers_andReplacesItsOwn(@TempDir Path root)
      throws IOException {
    result("v1.34.4", passing("a")).write(root);
    result("v1.30.14", passing("a")).write(root);
    result("v1.4.0", passing("a")).write(root);
    result("v1.34.5", passing("b", "BE2E#n")).write(root);
    assertThat(VersionResult.readAll(root))
        .containsExactly(
            result("v1.4.0", passing("a")),
            result("v1.30.14", passing("a")),
            result("v1.34.5", passing("b", "BE2E#n")));
  }

  @Test
  void resultHasPassed_ifAllScenariosHave() {
    var bad = new ScenarioResult("b", 3, List.of(), List.of("AE2E#m was skipped"));
    var empty = new ScenarioResult("b", 0, List.of(), List.of());
    assertThat(result("v1.34.4", passing("a")).hasPassed()).isTrue();
    assertThat(result("v1.34.4", passing("a"), bad).hasPassed()).isFalse();
    assertThat(result("v1.34.4", passing("a"), empty).hasPassed()).isFalse();
  }

  @Test
  void versions_haveAMinorOne() {
    assertThat(KubernetesVersion.minor("v1.30.14")).isEqualTo(30);
    assertThat(KubernetesVersion.minor("v1.38.0-alpha.1")).isEqualTo(38);
    assertThatThrownBy(() -> KubernetesVersion.minor("1.30"))
        .hasMessage("\"1.30\" is no Kubernetes version; one is v1.34.4");
  }

  @Test
  void digest_isOfTheProgramsOneAfterTheOther(@TempDir Path folder) throws IOException {
    Files.writeString(folder.resolve("etcd"), "a");
    Files.writeString(folder.resolve("kube"), "b");
    Files.writeString(folder.resolve("scheduler"), "c");
    // printf abc | sha256sum
    assertThat(Matrix.digest(folder))
        .isEqualTo("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  }
}
