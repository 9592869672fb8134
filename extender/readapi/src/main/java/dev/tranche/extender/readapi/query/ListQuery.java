package dev.tranche.extender.readapi.query;

import dev.tranche.extender.readapi.query.Problem.Invalid;
import io.vertx.core.MultiMap;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
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
  private static final int FILTER_CHARS_MAX = 253;

  /**
   * A field that rows are filtered by.
   *
   * @param values that it may have; empty for any text
   */
  public record Field(String name, Set<String> values) {
    public static Field text(String name) {
      return new Field(name, Set.of());
    }

    private Optional<String> allowedIfInvalid(String value) {
      if (value.isEmpty() || value.length() > FILTER_CHARS_MAX) {
        return Optional.of("1 to %d characters".formatted(FILTER_CHARS_MAX));
      }
      return values.isEmpty() || values.contains(value)
          ? Optional.empty()
          : Optional.of(String.join(", ", new TreeSet<>(values)));
    }
  }

  public sealed interface Parsed {
    record Valid(ListQuery query) implements Parsed {}

    record Refused(Problem problem) implements Parsed {}
  }

  public static Parsed parse(MultiMap parameters, List<Field> fields, Instant now) {
    var filters = new LinkedHashMap<String, String>();
    String limit = Integer.toString(LIMIT_DEFAULT);
    @Nullable String position = null;
    var seen = new TreeSet<String>();
    for (var parameter : parameters) {
      String name = parameter.getKey();
      String value = parameter.getValue();
      Optional<Field> field = fields.stream().filter(f -> f.name().equals(name)).findFirst();
      Optional<Invalid> invalid =
          seen.add(name)
              ? field
                  .flatMap(f -> f.allowedIfInvalid(value))
                  .map(allowed -> new Invalid(name, value, allowed))
              : Optional.of(new Invalid(name, value, "one value; the parameter is there twice"));
      if (invalid.isPresent()) {
        return refused(invalid.get());
      }
      if (field.isPresent()) {
        filters.put(name, value);
      } else if (name.equals(LIMIT)) {
        limit = value;
      } else if (name.equals(CONTINUE)) {
        position = value;
      } else {
        return refused(new Invalid(name, value, names(fields)));
      }
    }
    if (!limit.matches("[1-9]\\d{0,2}") || Integer.parseInt(limit) > LIMIT_MAX) {
      return refused(new Invalid(LIMIT, limit, "a whole number from 1 to " + LIMIT_MAX));
    }
    return positioned(filters, Integer.parseInt(limit), position, now);
  }

  private static Parsed positioned(
      Map<String, String> filters, int limit, @Nullable String position, Instant now) {
    if (position == null) {
      return new Parsed.Valid(new ListQuery(filters, limit, ""));
    }
    ContinueToken at = ContinueToken.decode(position).orElse(null);
    if (at == null) {
      return refused(new Invalid(CONTINUE, position, "metadata.continue of the page before"));
    }
    if (!at.fits(filters)) {
      return refused(
          new Invalid(CONTINUE, position, "the continue of a list with the same filters"));
    }
    // Another replica's clock may be ahead.
    if (Duration.between(at.issued(), now).abs().compareTo(ContinueToken.AGE_MAX) > 0) {
      return new Parsed.Refused(
          Problem.expired(
              new Invalid(
                  CONTINUE,
                  position,
                  "one of the last %d minutes; begin again without it"
                      .formatted(ContinueToken.AGE_MAX.toMinutes()))));
    }
    return new Parsed.Valid(new ListQuery(filters, limit, at.key()));
  }

  private static String names(List<Field> fields) {
    var names = new java.util.ArrayList<>(fields.stream().map(Field::name).toList());
    names.add(LIMIT);
    names.add(CONTINUE);
    return "the parameters " + String.join(", ", names);
  }

  private static Parsed refused(Invalid invalid) {
    return new Parsed.Refused(Problem.badRequest(invalid));
  }

  /** Returns whether a row's field passes the filter on it, if there is one. */
  public boolean admits(String field, @Nullable String value) {
    String wanted = filters.get(field);
    return wanted == null || wanted.equals(value);
  }
}
