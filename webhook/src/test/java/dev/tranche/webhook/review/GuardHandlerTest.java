package dev.tranche.webhook.review;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.events.AdmissionEvents;
import dev.tranche.webhook.guard.Guard;
import dev.tranche.webhook.guard.GuardMode;
import dev.tranche.webhook.metrics.WebhookMetrics;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the guard answers where an error would let the pod pass. */
class GuardHandlerTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final WebhookMetrics metrics = new WebhookMetrics(registry);

  @AutoClose
  private final AdmissionEvents events =
      new AdmissionEvents(new KubernetesClientBuilder().build(), metrics);

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "VOID|,'env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'all'}]|false",
        "VOID|,'tty':true|false",
        "AUDIT|,'env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'all'}]|true",
        "DENY|,'env':[{'name':'NVIDIA_VISIBLE_DEVICES','value':'all'}]|true"
      })
  void defectOfOurs_keepsThePodOut_whereOnlyTheGuardProtects(
      GuardMode mode, String fields, boolean allowed) throws IOException {
    // The guard looks up the node of a pod past the scheduler; here that fails.
    JsonNode response =
        review(
            mode,
            "'spec':{'nodeName':'n','containers':[{'name':'m','resources':{'limits':{'nvidia.com/gpu':'1'}}%s}]}"
                .formatted(fields));
    assertThat(response.path("uid").asText()).isEqualTo("u1");
    assertThat(response.path("allowed").asBoolean()).isEqualTo(allowed);
    assertThat(Reviews.counted(registry, "review", "guard", "outcome", "failed")).isEqualTo(1);
    if (!allowed) {
      String sentence = response.at("/status/message").asText();
      assertThat(sentence).startsWith("Tranche's guard failed on this pod");
      assertThat(Files.readString(Path.of("../docs/errors.md"))).contains(sentence);
    }
  }

  @Test
  void podTooLarge_isDenied_butNotWhereTheGuardOnlyTells() {
    String containers =
        IntStream.range(0, 1_001)
            .mapToObj(i -> "{'name':'c" + i + "'}")
            .collect(Collectors.joining(","));
    String pod = "'spec':{'containers':[" + containers + "]}";
    assertThat(review(GuardMode.VOID, pod).at("/status/message").asText())
        .contains("1001 containers");
    assertThat(denials("too_large")).isEqualTo(1);
    assertThat(review(GuardMode.DENY, pod).path("allowed").asBoolean()).isFalse();
    assertThat(review(GuardMode.AUDIT, pod).path("allowed").asBoolean()).isTrue();
  }

  @Test
  void podPaddedBeyondReading_isDenied() {
    String padding = "{},".repeat(110_000) + "{}";
    JsonNode response = review(GuardMode.VOID, "'spec':{'containers':[" + padding + "]}");
    assertThat(response.path("allowed").asBoolean()).isFalse();
    assertThat(response.at("/status/message").asText())
        .contains("more values or levels than the guard checks");
    assertThat(denials("too_large") + denials("unreadable")).isEqualTo(1);
  }

  private double denials(String reason) {
    return Reviews.counted(registry, "review", "guard", "outcome", "denied", "reason", reason);
  }

  private JsonNode review(GuardMode mode, String pod) {
    var rules = Reviews.guardRules(mode, true);
    var guard =
        new Guard(
            rules,
            node -> {
              throw new IllegalStateException("a defect");
            });
    String body =
        "{'apiVersion':'admission.k8s.io/v1','request':{'uid':'u1','operation':'CREATE',"
            + "'resource':{'resource':'pods'},'object':{"
            + pod
            + "}}}";
    var answer =
        new GuardHandler(guard, mode, events, metrics)
            .review(body.replace('\'', '"').getBytes(UTF_8));
    return Reviews.json(((ReviewHandler.Answer.Review) answer).json().toString()).path("response");
  }
}
