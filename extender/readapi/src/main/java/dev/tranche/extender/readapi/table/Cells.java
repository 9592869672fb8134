package dev.tranche.extender.readapi.table;

import dev.tranche.extender.readapi.row.GpuQuantity;
import dev.tranche.extender.readapi.row.MemoryQuantity;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Formats the API's values for people. */
final class Cells {
  private static final double MILLI = 1_000;
  private static final double PERCENT = 100;
  private static final double GIB = 1L << 30;

  private Cells() {}

  /** Returns a value as text; empty if there is none. */
  static String text(@Nullable Object value) {
    return value == null ? "" : value.toString();
  }

  static String gpus(@Nullable GpuQuantity gpus) {
    return gpus == null ? TextTable.UNKNOWN : gpus(gpus.gpus());
  }

  /** Rounds to thousandths; whole numbers have no decimals. */
  static String gpus(double gpus) {
    double rounded = Math.round(gpus * MILLI) / MILLI;
    return rounded == Math.rint(rounded) ? Long.toString((long) rounded) : Double.toString(rounded);
  }

  /** Formats a quantity as a percentage: {@code 250m} is {@code 25%}. */
  static String percent(@Nullable GpuQuantity gpus) {
    return gpus == null ? TextTable.UNKNOWN : percent(gpus.gpus());
  }

  static String percent(double share) {
    return Math.round(share * PERCENT) + "%";
  }

  static String memory(@Nullable MemoryQuantity memory) {
    return memory == null
        ? TextTable.UNKNOWN
        : String.format(Locale.ROOT, "%.1fGi", memory.bytes() / GIB);
  }

  /** Formats an age as kubectl does, with at most two units. */
  static String age(@Nullable Instant time, Instant now) {
    if (time == null) {
      return TextTable.UNKNOWN;
    }
    var age = Duration.between(time, now);
    if (age.isNegative()) {
      return "0s";
    }
    if (age.toSeconds() < 120) {
      return age.toSeconds() + "s";
    }
    if (age.toMinutes() < 10) {
      return two(age.toMinutes(), "m", age.toSecondsPart(), "s");
    }
    if (age.toHours() < 3) {
      return age.toMinutes() + "m";
    }
    if (age.toHours() < 8) {
      return two(age.toHours(), "h", age.toMinutesPart(), "m");
    }
    if (age.toHours() < 48) {
      return age.toHours() + "h";
    }
    return age.toDays() < 8 ? two(age.toDays(), "d", age.toHoursPart(), "h") : age.toDays() + "d";
  }

  private static String two(long great, String unit, int small, String smallUnit) {
    return small == 0 ? great + unit : great + unit + small + smallUnit;
  }
}
