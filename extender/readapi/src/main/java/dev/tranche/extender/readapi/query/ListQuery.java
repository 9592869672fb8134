package dev.tranche.extender.readapi.query;

import dev.tranche.extender.readapi.query.Parameters.Field;
import dev.tranche.extender.readapi.query.Parameters.Parsed;
import io.vertx.core.MultiMap;
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

  public static Parsed<ListQuery> parse(MultiMap parameters, List<Field> fields) {
    var all = new ArrayList<>(fields);
    all.add(Field.any(LIMIT));
    all.add(Field.any(CONTINUE));
    return Parameters.read(parameters, all).then(ListQuery::of);
  }

  /**
   * @param filters the values of all parameters
   */
  private static Parsed<ListQuery> of(Map<String, String> filters) {
    String position = filters.remove(CONTINUE);
    String sent = filters.remove(LIMIT);
    String limit = sent == null ? Integer.toString(LIMIT_DEFAULT) : sent;
    if (!limit.matches("[1-9]\\d{0,2}") || Integer.parseInt(limit) > LIMIT_MAX) {
      return Parsed.refused(LIMIT, limit, "a whole number from 1 to " + LIMIT_MAX);
    }
    String after = position == null ? "" : Page.keyOf(position);
    return position != null && after.isEmpty()
        ? Parsed.refused(CONTINUE, position, "metadata.continue of the page before")
        : new Parsed.Valid<>(new ListQuery(filters, Integer.parseInt(limit), after));
  }

  /** Returns whether a row's field passes the filter on it, if there is one. */
  public boolean admits(String field, @Nullable String value) {
    String wanted = filters.get(field);
    return wanted == null || wanted.equals(value);
  }
}
