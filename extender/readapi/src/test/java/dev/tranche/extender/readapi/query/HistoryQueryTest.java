package dev.tranche.extender.readapi.query;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.readapi.query.Parameters.Parsed;
import io.vertx.core.MultiMap;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class HistoryQueryTest {
  private static final Instant NOW = Instant.parse("2026-11-23T20:00:00Z");

  private static Parsed<HistoryQuery> parse(String... words) {
    var parameters = MultiMap.caseInsensitiveMultiMap();
    for (int i = 0; i < words.length; i += 2) {
      parameters.add(words[i], words[i + 1]);
    }
    return HistoryQuery.parse(parameters, NOW);
  }

  @ParameterizedTest
  @CsvSource({
    "90s, PT90S",
    "30m, PT30M",
    "1h30m, PT90M",
    "999h, PT6H",
    "2026-11-23T19:00:00Z, PT1H",
    "2026-11-23T20:30:00+01:00, PT30M",
    "1970-01-01T00:00:00Z, PT6H",
  })
  void since_isADurationOrATime(String since, Duration ago) {
    assertThat(parse("node", "a", "uuid", "GPU-0", "since", since))
        .isEqualTo(new Parsed.Valid<>(new HistoryQuery("a", "GPU-0", ago)));
  }

  @Test
  void without_itIsAllThereIs() {
    assertThat(parse("node", "a"))
        .isEqualTo(new Parsed.Valid<>(new HistoryQuery("a", null, Duration.ofHours(6))));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "0s",
        "h",
        "1d",
        "-5m",
        "yesterday",
        "2026-11-23",
        "2026-11-23T20:00:01Z",
        "99999999999999999999h"
      })
  void otherSince_isRefused(String since) {
    assertThat(said("node", "a", "since", since))
        .startsWith("since is \"" + since + "\"; allowed: a duration such as 90s");
  }

  @Test
  void otherParameters_areRefused() {
    assertThat(said()).startsWith("node is \"\"; allowed: the name of a node");
    assertThat(said("node", "a", "node", "b")).contains("there twice");
    assertThat(said("node", "")).contains("1 to 253 characters");
    assertThat(said("gpu", "0")).contains("the parameters node, uuid, since");
  }

  private static String said(String... words) {
    return ((Parsed.Refused<HistoryQuery>) parse(words)).problem().detail();
  }
}
