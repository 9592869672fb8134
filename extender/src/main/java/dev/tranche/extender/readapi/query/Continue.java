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
 * Where the next page of a list begins: after a row's key, whichever replica is asked. The client
 * takes it for opaque.
 *
 * @param key of the last row that was shown
 */
public record Continue(Instant issued, String filters, String key) {
  /** Beyond it rows have come and gone, and a list put together from pages says little. */
  static final Duration AGE_MAX = Duration.ofMinutes(5);

  static final int CHARS_MAX = 2_048;

  private static final String VERSION = "v1";
  private static final String SEPARATOR = "\n";
  private static final int PARTS = 4;

  static Continue after(String key, Map<String, String> filters, Instant now) {
    return new Continue(now, hash(filters), key);
  }

  /** It continues a list with the same filters only. */
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

  /** Empty if it is none of ours. */
  static Optional<Continue> decode(String encoded) {
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
      return Optional.of(new Continue(issued, parts.get(2), parts.get(3)));
    } catch (IllegalArgumentException | java.time.DateTimeException notOurs) {
      return Optional.empty();
    }
  }
}
