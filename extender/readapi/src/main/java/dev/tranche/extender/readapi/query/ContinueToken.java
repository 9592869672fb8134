package dev.tranche.extender.readapi.query;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The position where the next page of a list begins, after a row's key. It is valid at every
 * replica, and opaque to the client.
 *
 * @param key of the last row that was shown
 */
public record ContinueToken(Instant issued, String filters, String key) {
  /** After this time rows have come and gone, and a list joined from pages would say little. */
  static final Duration AGE_MAX = Duration.ofMinutes(5);

  static final int CHARS_MAX = 2_048;

  private static final String VERSION = "v1";
  private static final String SEPARATOR = "\n";
  private static final int PARTS = 4;

  static ContinueToken after(String key, Map<String, String> filters, Instant now) {
    return new ContinueToken(now, hash(filters), key);
  }

  /** Returns whether the filters are those of the list that it continues. */
  boolean fits(Map<String, String> others) {
    return filters.equals(hash(others));
  }

  private static String hash(Map<String, String> filters) {
    return Integer.toHexString(new TreeMap<>(filters).hashCode());
  }

  String encoded() {
    String text =
        String.join(SEPARATOR, VERSION, Long.toString(issued.getEpochSecond()), filters, key);
    return Base64.getUrlEncoder()
        .withoutPadding()
        .encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Decodes a position; empty if it is not one that we encoded. */
  static Optional<ContinueToken> decode(String encoded) {
    if (encoded.length() > CHARS_MAX) {
      return Optional.empty();
    }
    try {
      var text = new String(Base64.getUrlDecoder().decode(encoded), StandardCharsets.UTF_8);
      List<String> parts = List.of(text.split(SEPARATOR, PARTS));
      if (parts.size() < PARTS || !parts.getFirst().equals(VERSION)) {
        return Optional.empty();
      }
      var issued = Instant.ofEpochSecond(Long.parseLong(parts.get(1)));
      return Optional.of(new ContinueToken(issued, parts.get(2), parts.get(3)));
    } catch (IllegalArgumentException | java.time.DateTimeException notOurs) {
      return Optional.empty();
    }
  }
}
