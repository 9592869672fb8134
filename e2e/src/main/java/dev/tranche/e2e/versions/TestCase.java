package dev.tranche.e2e.versions;

/**
 * What a test report says of one test.
 *
 * @param className without its package, and without the classes nested in it
 * @param method without parameters; empty for what the report says of the class itself
 */
record TestCase(String className, String method, Outcome outcome) {
  enum Outcome {
    PASSED,
    PASSED_IN_SECOND_TRY,
    FAILED,
    SKIPPED
  }

  boolean hasPassed() {
    return outcome == Outcome.PASSED || outcome == Outcome.PASSED_IN_SECOND_TRY;
  }

  /** {@code GuardE2E#method}. */
  String name() {
    return method.isEmpty() ? className : className + "#" + method;
  }
}
