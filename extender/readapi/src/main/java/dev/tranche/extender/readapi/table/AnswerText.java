package dev.tranche.extender.readapi.table;

import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.row.NamespaceSummary;
import dev.tranche.extender.readapi.row.PodDetail;
import dev.tranche.extender.readapi.row.WhatIfAnswer;
import java.time.Instant;

/** Answers as text. */
public final class AnswerText {
  private AnswerText() {}

  public static String of(Record answer, Output output, Instant now) {
    return switch (output) {
      case JSON -> Json.pretty(answer);
      case TABLE -> table(answer, false, now);
      case WIDE -> table(answer, true, now);
    };
  }

  private static String table(Record answer, boolean wide, Instant now) {
    return switch (answer) {
      case NamespaceSummary summary -> Description.of(summary);
      case PodDetail pod -> Description.of(pod, wide, now);
      case WhatIfAnswer whatIf -> Description.of(whatIf, wide, now);
      default -> Tables.of(answer).text(wide);
    };
  }
}
