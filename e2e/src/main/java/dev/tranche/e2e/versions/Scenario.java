package dev.tranche.e2e.versions;

import dev.tranche.e2e.cluster.KubernetesVersion;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What must work on a Kubernetes version, and the tests that show it. */
record Scenario(String name, Since since, List<Selector> selectors) {
  /**
   * The first minor version on which a scenario is possible, and why not on earlier ones.
   *
   * @param reason the address of a Kubernetes commit, issue, pull request or KEP
   */
  record Since(int minor, String reason) {
    static final Since ALWAYS = new Since(0, "");
  }

  static final List<Scenario> ALL =
      List.of(
          of("contract of kube-scheduler", "SchedulerContractE2E"),
          of("placement and leak", "FractionE2E", "FragmentationE2E", "WalkthroughEE2E"),
          of("preemption", "PreemptionE2E", "ConstrainedPreemptionE2E"),
          of(
              "another number of replicas under running pods",
              "ConfigE2E#editBelowARunningPod_leavesItItsReplicas_andGivesOthersTheRest"
                  + "+editBelowAFullGpu_leavesTheIdleGpuUsableAtOnce"
                  + "+editAboveARunningPod_offersNothingOfItsCoarserReplica"),
          of("MPS", "WalkthroughDE2E"),
          of("restart and upgrade of kubelet and node plugin", "RestartE2E", "RegistrationE2E"),
          of("no drift in a burst of pods", "BurstE2E"),
          of(
              "guard and admission policies",
              "GuardE2E",
              "GuardPolicyE2E",
              "AdmissionE2E",
              "ApplyAgainE2E"),
          new Scenario(
              "void without a webhook",
              new Since(34, "https://github.com/kubernetes/enhancements/issues/3962"),
              List.of(Selector.of("GuardVoidPolicyE2E"))),
          of("install, upgrade, uninstall", "UpgradeE2E", "PlainYamlE2E"));

  /**
   * What {@code ./check} leaves out, since it is slow and other tests cover most of it. It says
   * little about a version, so only the newest one runs it, and it counts in no version's row.
   */
  static final Scenario SLOW =
      of(
          "slow tests, on the newest version only",
          "DiscoveryE2E",
          "ServiceModeE2E",
          "DraDriverE2E",
          "GangE2E",
          "KueueE2E",
          "CertManagerE2E",
          "AirGapE2E",
          "SwitchingE2E");

  private static final int NEWEST_MINOR = KubernetesVersion.minor(KubernetesVersion.DEFAULT);

  private static Scenario of(String name, String... selectors) {
    return new Scenario(name, Since.ALWAYS, Stream.of(selectors).map(Selector::of).toList());
  }

  static List<Scenario> on(int minor) {
    return ALL.stream().filter(scenario -> scenario.isPossibleOn(minor)).toList();
  }

  /** Returns what else runs on a version. */
  static List<Scenario> uncounted(int minor) {
    return minor == NEWEST_MINOR ? List.of(SLOW) : List.of();
  }

  boolean isPossibleOn(int minor) {
    return minor >= since.minor();
  }

  /** Returns the value of Maven's {@code -Dit.test} that runs all scenarios of a version. */
  static String tests(int minor) {
    return Stream.concat(on(minor).stream(), uncounted(minor).stream())
        .flatMap(scenario -> scenario.selectors().stream())
        .map(Selector::toString)
        .collect(Collectors.joining(","));
  }

  /** What the reports of a run say of this scenario. A test that did not run has not passed. */
  ScenarioResult result(List<TestCase> reported) {
    List<TestCase> own =
        reported.stream()
            .filter(test -> selectors.stream().anyMatch(selector -> selector.selects(test)))
            .toList();
    Stream<String> notPassed =
        own.stream()
            .filter(test -> !test.hasPassed())
            .map(
                test ->
                    test.name()
                        + (test.outcome() == TestCase.Outcome.SKIPPED
                            ? " was skipped"
                            : " failed"));
    Stream<String> absent =
        selectors.stream()
            .flatMap(selector -> selector.absentFrom(own))
            .map(name -> name + " did not run");
    return new ScenarioResult(
        name,
        (int) own.stream().filter(TestCase::hasPassed).count(),
        own.stream()
            .filter(test -> test.outcome() == TestCase.Outcome.PASSED_IN_SECOND_TRY)
            .map(TestCase::name)
            .toList(),
        Stream.concat(notPassed, absent).distinct().toList());
  }
}
