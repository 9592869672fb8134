package dev.tranche.extender.readapi.table;

import dev.tranche.api.Quantity;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Formats the API's values for people. */
final class Cells {
  private static final double MILLI = 1_000;
  private static final double PERCENT = 100;
  private static final double GIB = 1L << 30;

  private Cells() {}

  /** Returns a field of nested objects; null if one of them is missing. */
  static @Nullable Object at(JsonObject json, String... path) {
    JsonObject within = json;
    for (int i = 0; i < path.length - 1; i++) {
      within = within.getJsonObject(path[i]);
      if (within == null) {
        return null;
      }
    }
    return within.getValue(path[path.length - 1]);
  }

  /** Returns a field as text; empty if it is missing. */
  static String text(JsonObject json, String... path) {
    Object value = at(json, path);
    return value == null ? "" : value.toString();
  }

  static List<JsonObject> objects(JsonObject json, String field) {
    JsonArray array = json.getJsonArray(field);
    return array == null
        ? List.of()
        : IntStream.range(0, array.size()).mapToObj(array::getJsonObject).toList();
  }

  /** Parses a quantity: {@code 300m} is {@code 0.3}. */
  static double amount(String quantity) {
    return Quantity.number(quantity).orElseThrow().doubleValue();
  }

  static String gpus(JsonObject json, String... path) {
    Object value = at(json, path);
    return value == null ? TextTable.UNKNOWN : gpus(amount(value.toString()));
  }

  /** Rounds to thousandths; whole numbers have no decimals. */
  static String gpus(double gpus) {
    double rounded = Math.round(gpus * MILLI) / MILLI;
    return rounded == Math.rint(rounded) ? Long.toString((long) rounded) : Double.toString(rounded);
  }

  /** Formats a quantity as a percentage: {@code 250m} is {@code 25%}. */
  static String percent(JsonObject json, String... path) {
    Object value = at(json, path);
    return value == null ? TextTable.UNKNOWN : percent(amount(value.toString()));
  }

  static String percent(double share) {
    return Math.round(share * PERCENT) + "%";
  }

  static long bytes(String quantity) {
    return Quantity.parse(quantity).orElseThrow();
  }

  static String memory(JsonObject json, String... path) {
    Object value = at(json, path);
    return value == null
        ? TextTable.UNKNOWN
        : String.format(Locale.ROOT, "%.1fGi", bytes(value.toString()) / GIB);
  }

  /** Formats an age as kubectl does, with at most two units. */
  static String age(@Nullable Object time, Instant now) {
    if (time == null) {
      return TextTable.UNKNOWN;
    }
    var age = Duration.between(Instant.parse(time.toString()), now);
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
