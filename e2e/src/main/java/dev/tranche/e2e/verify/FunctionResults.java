package dev.tranche.e2e.verify;

import java.util.ArrayList;
import java.util.List;

/**
 * The answers of one NVML function, of each GPU.
 *
 * @param needed the node plugin does not work without it
 * @param expected return codes that are answers, too
 */
record FunctionResults(String function, boolean needed, List<Integer> expected, List<Of> answers) {
  /**
   * What it answered.
   *
   * @param of the GPU's index, or empty for a function of the whole library
   * @param value for people; empty unless it succeeded
   */
  record Of(String of, int code, String value) {
    private String text() {
      String said = code == NvmlCodes.SUCCESS ? value : NvmlCodes.name(code);
      return of.isEmpty() ? said : "GPU " + of + " " + said;
    }
  }

  FunctionResults {
    expected = List.copyOf(expected);
    answers = List.copyOf(answers);
  }

  Check check(String area) {
    List<String> texts = answers.stream().map(Of::text).distinct().toList();
    return Check.of(area, function, answer(), String.join(", ", texts));
  }

  private CheckStatus answer() {
    List<Integer> wrong = new ArrayList<>(answers.stream().map(Of::code).toList());
    wrong.removeIf(code -> code == NvmlCodes.SUCCESS || expected.contains(code));
    if (wrong.isEmpty()) {
      return CheckStatus.OK;
    }
    boolean absent =
        wrong.stream()
            .allMatch(code -> NvmlCodes.unsupported(code) || code == NvmlCodes.NO_PERMISSION);
    return absent && !needed ? CheckStatus.NOT_AVAILABLE : CheckStatus.FAILED;
  }

  /** The library lacks it. */
  static Check missing(String area, String function, boolean needed) {
    return Check.of(
        area,
        function,
        needed ? CheckStatus.FAILED : CheckStatus.NOT_AVAILABLE,
        "missing symbol: this library does not have the function");
  }
}
