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
import java.util.Set;
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
    Duration longest = Duration.ofMillis(GpuHistory.WINDOW_MS);
    Duration ago = since == null ? longest : ago(since, now);
    return ago.isPositive()
        ? new Parsed.Valid(
            new HistoryQuery(node, values.get(UUID), ago.compareTo(longest) > 0 ? longest : ago))
        : refused(
            SINCE,
            String.valueOf(since),
            "a duration such as 90s, 30m or 1h30m, or a time of the past such as"
                + " 2026-11-23T19:00:00Z");
  }

  private static Parsed refused(String field, String value, String allowed) {
    return new Parsed.Refused(Problem.badRequest(new Invalid(field, value, allowed)));
  }

  /** Returns how long ago that is; zero if it is neither a duration nor a time. */
  private static Duration ago(String since, Instant now) {
    try {
      return since.contains("T")
          ? Duration.between(OffsetDateTime.parse(since).toInstant(), now)
          : Duration.parse("PT" + since);
    } catch (DateTimeParseException neither) {
      return Duration.ZERO;
    }
  }
}
