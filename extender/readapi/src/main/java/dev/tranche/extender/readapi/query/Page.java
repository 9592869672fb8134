package dev.tranche.extender.readapi.query;

import dev.tranche.extender.readapi.json.Json;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;

/** A page of a list, cut by rows and by size. */
public record Page<R>(List<R> rows, Metadata metadata) {
  /** A page ends once it has reached this size, so it may be up to one row longer. */
  static final int BYTES_MAX = 1 << 20;

  private static final String CONTINUE_VERSION = "v2\n";

  /**
   * @param sorted by {@code key}
   */
  public static <T, R extends Record> Page<R> of(
      List<T> sorted,
      Function<T, String> key,
      Predicate<T> admitted,
      Function<T, R> row,
      ListQuery query) {
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
    String position = left == 0 ? null : continueAfter(key.apply(rest.get(rows.size() - 1)));
    return new Page<>(rows, new Metadata(left, position));
  }

  /** Returns where the next page begins. It is valid at every replica, and opaque to clients. */
  private static String continueAfter(String key) {
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString((CONTINUE_VERSION + key).getBytes(StandardCharsets.UTF_8));
  }

  /** Returns the key after which a page begins; empty if the position is none of ours. */
  static String keyOf(String position) {
    try {
      var text = new String(Base64.getUrlDecoder().decode(position), StandardCharsets.UTF_8);
      return text.startsWith(CONTINUE_VERSION) ? text.substring(CONTINUE_VERSION.length()) : "";
    } catch (IllegalArgumentException notOurs) {
      return "";
    }
  }
}
