package dev.tranche.extender.readapi.query;

import dev.tranche.extender.readapi.json.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;

/** A page of a list, cut by rows and by size. */
public record Page<R>(List<R> rows, Metadata metadata) {
  /** A page ends once it has reached this size, so it may be up to one row longer. */
  static final int BYTES_MAX = 1 << 20;

  /**
   * @param sorted by {@code key}
   */
  public static <T, R extends Record> Page<R> of(
      List<T> sorted,
      Function<T, String> key,
      Predicate<T> admitted,
      Function<T, R> row,
      ListQuery query,
      Instant now) {
    List<T> rest =
        sorted.stream()
            .filter(each -> query.after().isEmpty() || key.apply(each).compareTo(query.after()) > 0)
            .filter(admitted)
            .toList();
    var rows = new ArrayList<R>();
    int bytes = 0;
    for (T each : rest) {
      if (rows.size() == query.limit() || bytes >= BYTES_MAX) {
        break;
      }
      R made = row.apply(each);
      bytes += Json.bytes(made).length;
      rows.add(made);
    }
    int left = rest.size() - rows.size();
    String position =
        left == 0
            ? null
            : ContinueToken.after(key.apply(rest.get(rows.size() - 1)), query.filters(), now)
                .encoded();
    return new Page<>(rows, new Metadata(left, position));
  }
}
