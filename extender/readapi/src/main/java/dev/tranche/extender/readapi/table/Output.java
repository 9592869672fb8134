package dev.tranche.extender.readapi.table;

import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.row.NamespaceSummary;
import dev.tranche.extender.readapi.row.PodDetail;
import dev.tranche.extender.readapi.row.WhatIfAnswer;
import java.time.Instant;
import java.util.Locale;

/** The formats of an answer. */
public enum Output {
  JSON("application/json"),
  TABLE("text/plain; charset=utf-8"),
  WIDE("text/plain; charset=utf-8");

  public final String mediaType;

  Output(String mediaType) {
    this.mediaType = mediaType;
  }

  /** Returns an answer as text. */
  public String of(Record answer, Instant now) {
    if (this == JSON) {
      return Json.pretty(answer);
    }
    boolean wide = this == WIDE;
    return switch (answer) {
      case NamespaceSummary summary -> Description.of(summary);
      case PodDetail pod -> Description.of(pod, wide, now);
      case WhatIfAnswer whatIf -> Description.of(whatIf, wide, now);
      default -> Tables.of(answer).text(wide);
    };
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
