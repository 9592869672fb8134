package dev.tranche.extender.readapi.query;

import dev.tranche.extender.readapi.query.Parameters.Field;
import dev.tranche.extender.readapi.query.Parameters.Parsed;
import dev.tranche.extender.readapi.query.Problem.Invalid;
import io.vertx.core.MultiMap;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The rows that a list request selects.
 *
 * @param filters by field
 * @param after key of the row before the first; empty to begin at the start
 */
public record ListQuery(Map<String, String> filters, int limit, String after) {
  public static final int LIMIT_DEFAULT = 100;
  public static final int LIMIT_MAX = 500;

  private static final String LIMIT = "limit";
  private static final String CONTINUE = "continue";

  public static Parsed<ListQuery> parse(MultiMap parameters, List<Field> fields, Instant now) {
    var all = new ArrayList<>(fields);
    all.add(Field.any(LIMIT));
    all.add(Field.any(CONTINUE));
    return Parameters.read(parameters, all).then(values -> of(values, now));
  }

  /**
   * @param filters the values of all parameters
   */
  private static Parsed<ListQuery> of(Map<String, String> filters, Instant now) {
    String position = filters.remove(CONTINUE);
    String sent = filters.remove(LIMIT);
    String limit = sent == null ? Integer.toString(LIMIT_DEFAULT) : sent;
    if (!limit.matches("[1-9]\\d{0,2}") || Integer.parseInt(limit) > LIMIT_MAX) {
      return Parsed.refused(LIMIT, limit, "a whole number from 1 to " + LIMIT_MAX);
    }
    if (position == null) {
      return new Parsed.Valid<>(new ListQuery(filters, Integer.parseInt(limit), ""));
    }
    ContinueToken at = ContinueToken.decode(position).orElse(null);
    if (at == null) {
      return Parsed.refused(CONTINUE, position, "metadata.continue of the page before");
    }
    if (!at.fits(filters)) {
      return Parsed.refused(CONTINUE, position, "the continue of a list with the same filters");
    }
    // Another replica's clock may be ahead.
    if (Duration.between(at.issued(), now).abs().compareTo(ContinueToken.AGE_MAX) > 0) {
      return new Parsed.Refused<>(
          Problem.expired(
              new Invalid(
                  CONTINUE,
                  position,
                  "one of the last %d minutes; begin again without it"
                      .formatted(ContinueToken.AGE_MAX.toMinutes()))));
    }
    return new Parsed.Valid<>(new ListQuery(filters, Integer.parseInt(limit), at.key()));
  }

  /** Returns whether a row's field passes the filter on it, if there is one. */
  public boolean admits(String field, @Nullable String value) {
    String wanted = filters.get(field);
    return wanted == null || wanted.equals(value);
  }
}
