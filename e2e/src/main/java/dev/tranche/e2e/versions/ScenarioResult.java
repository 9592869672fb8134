package dev.tranche.e2e.versions;

import java.util.List;

/**
 * What came of a scenario on one Kubernetes version.
 *
 * @param passed how many tests passed
 * @param inSecondTry those among them that failed once
 * @param notPassed which tests failed, were skipped or did not run, each as a sentence
 */
record ScenarioResult(String name, int passed, List<String> inSecondTry, List<String> notPassed) {
  boolean hasPassed() {
    return passed > 0 && notPassed.isEmpty();
  }
}
