package dev.tranche.e2e.verify;

import java.util.ArrayList;
import java.util.List;

/**
 * The answers of one NVML function for each GPU.
 *
 * @param needed whether the node plugin cannot work without the function
 * @param expected return codes other than success that are valid answers
 * @param tookNs for all calls
 */
record FunctionResults(
    String function, boolean needed, List<Integer> expected, List<Answer> answers, long tookNs) {
  /** Begins the value of a function that is there, and not called. */
  static final String NOT_CALLED = "is there; not called";

  /**
   * One answer.
   *
   * @param target the GPU's index, a pair of GPUs, a MIG device, or empty for the whole library
   * @param value the answer for people; shown only if the call succeeded
   */
  record Answer(String target, int code, String value) {
    private String text() {
      String shown = code == NvmlCodes.SUCCESS ? value : NvmlCodes.name(code);
      return target.isEmpty() ? shown : "GPU " + target + " " + shown;
    }
  }

  FunctionResults {
    expected = List.copyOf(expected);
    answers = List.copyOf(answers);
  }

  Check check(String area) {
    List<String> texts = answers.stream().map(Answer::text).distinct().toList();
    String all = String.join(", ", texts);
    String time = all.startsWith(NOT_CALLED) ? "" : " (%.2f ms)".formatted(tookNs / 1e6);
    return Check.of(area, function, status(), all + time);
  }

  private CheckStatus status() {
    List<Integer> wrong = new ArrayList<>(answers.stream().map(Answer::code).toList());
    wrong.removeIf(code -> code == NvmlCodes.SUCCESS || expected.contains(code));
    if (wrong.isEmpty()) {
      return CheckStatus.OK;
    }
    boolean absent =
        wrong.stream()
            .allMatch(code -> NvmlCodes.unsupported(code) || code == NvmlCodes.NO_PERMISSION);
    return absent && !needed ? CheckStatus.NOT_AVAILABLE : CheckStatus.FAILED;
  }

  /** Returns the check of a function that the library lacks. */
  static Check missing(String area, String function, boolean needed) {
    return Check.of(
        area,
        function,
        needed ? CheckStatus.FAILED : CheckStatus.NOT_AVAILABLE,
        "missing symbol: this library does not have the function");
  }
}
