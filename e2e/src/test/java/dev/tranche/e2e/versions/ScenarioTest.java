package dev.tranche.e2e.versions;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.versions.Scenario.Since;
import dev.tranche.e2e.versions.TestCase.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ScenarioTest {
  private static final Scenario GUARD =
      new Scenario(
          "guard",
          Since.ALWAYS,
          List.of(Selector.of("GuardE2E"), Selector.of("ConfigE2E#edit+undo")));
  private static final TestCase WHOLE = new TestCase("GuardE2E", "refuses", Outcome.PASSED);
  private static final TestCase EDIT = new TestCase("ConfigE2E", "edit", Outcome.PASSED);
  private static final TestCase UNDO = new TestCase("ConfigE2E", "undo", Outcome.PASSED);

  @Test
  void passes_ifAllItsTestsPass_whateverOthersDo() {
    var others = new TestCase("ConfigE2E", "another", Outcome.FAILED);
    ScenarioResult result = GUARD.result(List.of(WHOLE, EDIT, UNDO, others));
    assertThat(result).isEqualTo(new ScenarioResult("guard", 3, List.of(), List.of()));
    assertThat(result.hasPassed()).isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "GuardE2E, refuses, FAILED, GuardE2E#refuses failed",
    "GuardE2E, refuses, SKIPPED, GuardE2E#refuses was skipped",
    "ConfigE2E, edit, SKIPPED, ConfigE2E#edit was skipped",
    "ConfigE2E, '', FAILED, ConfigE2E failed",
    "GuardE2E, '', SKIPPED, GuardE2E was skipped"
  })
  void failedOrSkippedTest_makesItFail(String of, String method, Outcome outcome, String said) {
    var bad = new TestCase(of, method, outcome);
    ScenarioResult result = GUARD.result(List.of(WHOLE, EDIT, UNDO, bad));
    assertThat(result.hasPassed()).isFalse();
    assertThat(result.notPassed()).containsExactly(said);
  }

  @Test
  void testThatDidNotRun_makesItFail() {
    assertThat(GUARD.result(List.of(WHOLE, EDIT)).notPassed())
        .containsExactly("ConfigE2E#undo did not run");
    assertThat(GUARD.result(List.of()).notPassed())
        .containsExactly(
            "GuardE2E did not run", "ConfigE2E#edit did not run", "ConfigE2E#undo did not run");
    assertThat(GUARD.result(List.of()).hasPassed()).isFalse();
  }

  @Test
  void testThatPassedInItsSecondTry_isNamed() {
    var second = new TestCase("GuardE2E", "refuses", Outcome.PASSED_IN_SECOND_TRY);
    ScenarioResult result = GUARD.result(List.of(second, EDIT, UNDO));
    assertThat(result.hasPassed()).isTrue();
    assertThat(result.inSecondTry()).containsExactly("GuardE2E#refuses");
  }

  @Test
  void everySelector_namesTestsThatExist() throws IOException {
    assertThat(Scenario.ALL).isNotEmpty();
    for (Scenario scenario : Scenario.ALL) {
      for (Selector selector : scenario.selectors()) {
        String code = source(selector.className());
        assertThat(selector.methods())
            .as("%s", selector)
            .allSatisfy(method -> assertThat(code).contains("\n  void " + method + "("));
      }
    }
    assertThat(Scenario.tests(37)).startsWith("SchedulerContractE2E,").doesNotContain(" ");
  }

  @Test
  void scenario_runsFromItsFirstVersionOn() {
    assertThat(Scenario.tests(30)).contains("GuardE2E").doesNotContain("GuardVoidPolicyE2E");
    assertThat(Scenario.tests(34)).contains("GuardE2E", "GuardVoidPolicyE2E");
  }

  /** Otherwise nobody would run it. */
  @Test
  void everyTestThatCheckLeavesOut_runsOnTheNewestVersion() throws IOException {
    assertThat(tagged("matrix\"")).isNotEmpty().containsExactlyElementsOf(classes(Scenario.SLOW));
    int newest = KubernetesVersion.minor(KubernetesVersion.DEFAULT);
    assertThat(Scenario.tests(newest).split(",")).containsAll(classes(Scenario.SLOW));
    assertThat(Scenario.tests(newest - 1).split(",")).doesNotContain("KueueE2E");
  }

  @Test
  void check_leavesOutTheTags_onlyWhereItRunsWhatEachCommitRuns() throws IOException {
    List<String> check = Files.readAllLines(Path.of("../check"));
    assertThat(check.stream().filter(line -> line.contains("matrix | skew | machine")))
        .containsExactly("    excluded='matrix | skew | machine'");
    assertThat(check).contains("    set -- -Dtest.tags.excluded=\"$excluded\" \"$@\"");
  }

  @Test
  void check_knowsTheTestsThatAMatrixRuns() throws IOException {
    String start = "cluster_tests='";
    String pattern =
        Files.readAllLines(Path.of("../check")).stream()
            .filter(line -> line.startsWith(start))
            .map(line -> line.substring(start.length(), line.length() - 1))
            .findFirst()
            .orElseThrow();
    assertThat(Scenario.tests(30)).contains("+").matches(pattern);
    assertThat(Scenario.tests(37)).matches(pattern);
  }

  /** ./check knows three slices, and each commit runs the scenarios. */
  @Test
  void slices_areThree_andHaveNoClassOfAScenario() throws IOException {
    var sliced = new ArrayList<String>();
    for (int slice = 1; slice <= 3; slice++) {
      List<String> tagged = tagged("slice" + slice);
      assertThat(tagged).hasSizeGreaterThan(2);
      sliced.addAll(tagged);
    }
    assertThat(tagged("slice")).containsExactlyInAnyOrderElementsOf(sliced);
    assertThat(Scenario.tests(30).split(",")).doesNotContainAnyElementsOf(sliced);
  }

  private static List<String> classes(Scenario scenario) {
    return scenario.selectors().stream().map(Selector::toString).sorted().toList();
  }

  private static List<String> tagged(String tag) throws IOException {
    try (Stream<Path> files = Files.walk(Path.of("src/test/java"))) {
      List<Path> tests =
          files.filter(file -> file.toString().endsWith("E2E.java")).sorted().toList();
      var tagged = new ArrayList<String>();
      for (Path file : tests) {
        String code = Files.readString(file);
        if (code.contains("@Tag(\"" + tag)) {
          tagged.add(file.getFileName().toString().replace(".java", ""));
        }
      }
      return tagged.stream().sorted().toList();
    }
  }

  private static String source(String className) throws IOException {
    try (Stream<Path> files = Files.walk(Path.of("src/test/java"))) {
      return Files.readString(
          files.filter(file -> file.endsWith(className + ".java")).findFirst().orElseThrow());
    }
  }

  @Test
  void reports_areReadAsMavenWritesThem(@TempDir Path folder) throws IOException {
    Files.writeString(
        folder.resolve("TEST-dev.tranche.AE2E.xml"),
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuite name="dev.tranche.AE2E" tests="5" errors="1" skipped="1" failures="1" flakes="1">
          <properties><property name="a" value="b"/></properties>
          <testcase name="plain" classname="dev.tranche.AE2E" time="0.1">
            <system-out><![CDATA[failure]]></system-out>
          </testcase>
          <testcase name="parameters(String, int)[2]" classname="dev.tranche.AE2E" time="0.1">
            <flakyFailure message="m" type="t"><stackTrace><![CDATA[s]]></stackTrace></flakyFailure>
          </testcase>
          <testcase name="fails" classname="dev.tranche.AE2E$Nested" time="0.1">
            <failure message="m" type="t"><![CDATA[s]]></failure>
            <rerunFailure message="m" type="t"><stackTrace><![CDATA[s]]></stackTrace></rerunFailure>
          </testcase>
          <testcase name="" classname="dev.tranche.AE2E" time="0.1">
            <error message="m" type="t"><![CDATA[s]]></error>
          </testcase>
          <testcase name="left" classname="dev.tranche.AE2E" time="0.0">
            <skipped message="not here"/>
          </testcase>
        </testsuite>
        """);
    Files.writeString(folder.resolve("failsafe-summary.xml"), "<failsafe-summary/>");
    assertThat(TestReports.read(folder))
        .containsExactly(
            new TestCase("AE2E", "plain", Outcome.PASSED),
            new TestCase("AE2E", "parameters", Outcome.PASSED_IN_SECOND_TRY),
            new TestCase("AE2E", "fails", Outcome.FAILED),
            new TestCase("AE2E", "", Outcome.FAILED),
            new TestCase("AE2E", "left", Outcome.SKIPPED));
    assertThat(TestReports.read(folder.resolve("none"))).isEmpty();
  }
}
