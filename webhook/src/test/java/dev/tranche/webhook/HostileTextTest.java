package dev.tranche.webhook;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.process.log.LogFormatter;
import dev.tranche.process.log.Logged;
import dev.tranche.webhook.events.AdmissionEvents;
import dev.tranche.webhook.guard.Guard;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.review.FractionHandler;
import dev.tranche.webhook.review.GuardHandler;
import dev.tranche.webhook.review.ReviewHandler;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.logging.Level;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** No text of a pod forges a line of the log or of what its owner reads, wherever it stands. */
class HostileTextTest {
  private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{Cntrl}\\p{Cf}\\u2028\\u2029]");
  private static final int SENTENCES_CHARS_MAX = 6_000;

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final WebhookMetrics metrics = new WebhookMetrics(registry);

  @AutoClose
  private final AdmissionEvents events =
      new AdmissionEvents(new KubernetesClientBuilder().build(), metrics);

  @AutoClose private final Logged logged = new Logged("dev.tranche.webhook", Level.ALL);

  @ParameterizedTest
  @ValueSource(strings = {"a\\n2026 INFO forged", "\\u2028x", "\\u202ex", "\\u001b[2Jx", "\\r\\n"})
  void textOfAPod_staysInItsLine(String text) {
    for (byte[] body : HostileBodies.with(text)) {
      for (ReviewHandler entry : entries()) {
        for (String sentence : sentences(entry.review(body))) {
          assertThat(sentence)
              .doesNotContainPattern(UNPRINTABLE)
              .hasSizeLessThan(SENTENCES_CHARS_MAX);
        }
      }
    }
    assertThat(logged.records())
        .isNotEmpty()
        .extracting(written -> new LogFormatter().format(written).stripTrailing())
        .allSatisfy(line -> assertThat(line).doesNotContainPattern(UNPRINTABLE));
  }

  private List<ReviewHandler> entries() {
    var mutator = new PodMutator(Reviews.RULES);
    var entries = new ArrayList<ReviewHandler>();
    entries.add(new FractionHandler(mutator, uid -> Reviews.cluster(), events, metrics));
    var rules = Reviews.guardRules(GuardMode.VOID, true);
    for (GuardMode mode : GuardMode.values()) {
      entries.add(new GuardHandler(new Guard(rules, node -> Set.of()), mode, events, metrics));
    }
    return entries;
  }

  private static List<String> sentences(ReviewHandler.Answer answer) {
    return switch (answer) {
      case ReviewHandler.Answer.BadRequest(String reason) -> List.of(reason);
      case ReviewHandler.Answer.Review review -> {
        JsonNode response =
            Reviews.json(new String(review.json().getBytes(), UTF_8)).path("response");
        yield Stream.concat(
                Stream.of(response.at("/status/message").asText("")),
                response.path("warnings").valueStream().map(JsonNode::asText))
            .toList();
      }
    };
  }
}
