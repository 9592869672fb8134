package dev.tranche.extender.readapi.query;

import dev.tranche.extender.history.GpuHistory;
import dev.tranche.extender.readapi.query.Problem.Invalid;
import io.vertx.core.MultiMap;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The GPUs and the time that a history request is about.
 *
 * @param uuid null for all GPUs of the node
 * @param ago how far back
 */
public record HistoryQuery(String node, @Nullable String uuid, Duration ago) {
  private static final String NODE = "node";
  private static final String UUID = "uuid";
  private static final String SINCE = "since";
  private static final int CHARS_MAX = 253;
  private static final Pattern DURATION =
      Pattern.compile("(?=.)(?:(\\d{1,3})h)?(?:(\\d{1,4})m)?(?:(\\d{1,5})s)?");

  public sealed interface Parsed {
    record Valid(HistoryQuery query) implements Parsed {}

    record Refused(Problem problem) implements Parsed {}
  }

  public static Parsed parse(MultiMap parameters, Instant now) {
    Map<String, String> values = new HashMap<>();
    for (var parameter : parameters) {
      String name = parameter.getKey();
      String value = parameter.getValue();
      if (!Set.of(NODE, UUID, SINCE).contains(name)) {
        return refused(name, value, "the parameters node, uuid, since");
      }
      if (values.put(name, value) != null) {
        return refused(name, value, "one value; the parameter is there twice");
      }
      if (value.isEmpty() || value.length() > CHARS_MAX) {
        return refused(name, value, "1 to %d characters".formatted(CHARS_MAX));
      }
    }
    String node = values.get(NODE);
    if (node == null) {
      return refused(NODE, "", "the name of a node");
    }
    String since = values.get(SINCE);
    Optional<Duration> ago =
        since == null
            ? Optional.of(Duration.ofMillis(GpuHistory.WINDOW_MS))
            : duration(since).or(() -> until(since, now));
    return ago.filter(Duration::isPositive)
        .<Parsed>map(back -> new Parsed.Valid(new HistoryQuery(node, values.get(UUID), back)))
        .orElseGet(
            () ->
                refused(
                    SINCE,
                    String.valueOf(since),
                    "a duration such as 90s, 30m or 1h30m, or a time of the past such as"
                        + " 2026-11-23T19:00:00Z"));
  }

  private static Parsed refused(String field, String value, String allowed) {
    return new Parsed.Refused(Problem.badRequest(new Invalid(field, value, allowed)));
  }

  private static Optional<Duration> duration(String text) {
    Matcher matcher = DURATION.matcher(text);
    return matcher.matches()
        ? Optional.of(
            Duration.ofHours(number(matcher.group(1)))
                .plusMinutes(number(matcher.group(2)))
                .plusSeconds(number(matcher.group(3))))
        : Optional.empty();
  }

  private static long number(@Nullable String digits) {
    return digits == null ? 0 : Long.parseLong(digits);
  }

  /** Parses a time and returns how long ago it was, at most the length of the history. */
  private static Optional<Duration> until(String time, Instant now) {
    try {
      Duration ago = Duration.between(OffsetDateTime.parse(time).toInstant(), now);
      Duration longest = Duration.ofMillis(GpuHistory.WINDOW_MS);
      return Optional.of(ago.compareTo(longest) > 0 ? longest : ago);
    } catch (DateTimeParseException none) {
      return Optional.empty();
    }
  }
}
