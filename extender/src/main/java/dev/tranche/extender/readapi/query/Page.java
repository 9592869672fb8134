package dev.tranche.extender.readapi.query;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;

/** Cuts a list into pages, by rows and by size. */
public final class Page {
  /** A page ends once it has reached this size, so it may be up to one row longer. */
  static final int BYTES_MAX = 1 << 20;

  private Page() {}

  /**
   * @param sorted by {@code key}
   * @param name of the answer's array
   */
  public static <T> JsonObject of(
      String name,
      List<T> sorted,
      Function<T, String> key,
      Predicate<T> admitted,
      Function<T, JsonObject> row,
      ListQuery query,
      Instant now) {
    List<T> rest =
        sorted.stream()
            .filter(each -> query.after().isEmpty() || key.apply(each).compareTo(query.after()) > 0)
            .filter(admitted)
            .toList();
    var rows = new JsonArray();
    int bytes = 0;
    for (T each : rest) {
      if (rows.size() == query.limit() || bytes >= BYTES_MAX) {
        break;
      }
      JsonObject json = row.apply(each);
      bytes += json.toBuffer().length();
      rows.add(json);
    }
    var metadata = new JsonObject().put("remainingItemCount", rest.size() - rows.size());
    if (rows.size() < rest.size()) {
      String last = key.apply(rest.get(rows.size() - 1));
      metadata.put("continue", Continue.after(last, query.filters(), now).encoded());
    }
    return new JsonObject().put("metadata", metadata).put(name, rows);
  }
}
