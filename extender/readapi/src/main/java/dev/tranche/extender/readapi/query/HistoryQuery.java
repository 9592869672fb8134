package dev.tranche.extender.readapi.query;

import dev.tranche.extender.history.GpuHistory;
import dev.tranche.extender.readapi.query.Parameters.Field;
import dev.tranche.extender.readapi.query.Parameters.Parsed;
import io.vertx.core.MultiMap;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Map;
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

  public static Parsed<HistoryQuery> parse(MultiMap parameters, Instant now) {
    return Parameters.read(
            parameters, List.of(Field.text(NODE), Field.text(UUID), Field.text(SINCE)))
        .then(values -> of(values, now));
  }

  private static Parsed<HistoryQuery> of(Map<String, String> values, Instant now) {
    String node = values.get(NODE);
    if (node == null) {
      return Parsed.refused(NODE, "", "the name of a node");
    }
    String since = values.get(SINCE);
    Duration longest = Duration.ofMillis(GpuHistory.WINDOW_MS);
    Duration ago = since == null ? longest : ago(since, now);
    return ago.isPositive()
        ? new Parsed.Valid<>(
            new HistoryQuery(node, values.get(UUID), ago.compareTo(longest) > 0 ? longest : ago))
        : Parsed.refused(
            SINCE,
            String.valueOf(since),
            "a duration such as 90s, 30m or 1h30m, or a time of the past such as"
                + " 2026-11-23T19:00:00Z");
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
