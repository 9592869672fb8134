package dev.tranche.e2e.verify;

import java.util.List;

/**
 * One line of the report.
 *
 * @param area the section that it belongs to
 * @param sentence what was seen, for people
 * @param details more of it, for whoever looks into a difference
 */
public record Check(
    String area, String name, CheckStatus status, String sentence, List<String> details) {
  public Check {
    details = List.copyOf(details);
  }

  public static Check of(String area, String name, CheckStatus status, String sentence) {
    return new Check(area, name, status, sentence, List.of());
  }
}
