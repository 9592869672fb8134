package dev.tranche.webhook.events;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.process.log.Logged;
import dev.tranche.webhook.MockApi;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.guard.FindingOutcome;
import dev.tranche.webhook.guard.GuardFinding;
import dev.tranche.webhook.metrics.WebhookMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A review may name anything. */
class AdmissionEventsIT {
  private final MockApi api = new MockApi();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final AdmissionEvents events =
      new AdmissionEvents(api.client(), new WebhookMetrics(registry));

  @AfterEach
  void stop() {
    events.close();
    api.close();
  }

  @ParameterizedTest
  @CsvSource({
    "v1,Pod,here,1",
    "kubeflow.org/v1,PyTorchJob,train,1",
    "v1,Pod,../pods/here,0",
    "v1,Your account,here,0",
    "not a version,Pod,here,0",
  })
  void eventNames_onlyWhatKubernetesTakes(String version, String kind, String name, int written) {
    ObjectNode pod = Reviews.owned(Reviews.annotated(), version, kind, name);
    FindingOutcome found =
        new FindingOutcome(GuardFinding.PRIVILEGED, "x", FindingOutcome.Outcome.AUDITED, false);
    events.found("x", Reviews.created("team", pod), found);
    events.found("x", Reviews.created("team", pod), found);
    assertThat(events.queue.size()).isEqualTo(written);
  }

  @Test
  void attackersReview_bringsNoEventIntoAnotherNamespace() {
    ObjectNode pod =
        Reviews.owned(
            Reviews.annotated(), "example.com/v1", "Bank", "your account was closed, call\n555");
    events.found(
        "x",
        Reviews.created("kube-system", pod),
        new FindingOutcome(GuardFinding.PRIVILEGED, "x", FindingOutcome.Outcome.AUDITED, false));
    assertThat(events.queue.size()).isZero();
  }

  /** Warnings quote names, and Kubernetes refuses such a pod only later. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'metadata':{'annotations':{'tranche.dev/%s':''}}}",
        "{'metadata':{'labels':{'serving.kserve.io/inferenceservice':'%s'}}}",
        "{'spec':{'schedulerName':'%s'}}",
        "{'spec':{'containers':[{'name':'%s'}]}}",
        "{'spec':{'initContainers':[{'name':'%s'}]}}"
      })
  void warningThatQuotesASentence_isNoEvent(String pod) throws IOException {
    for (String text : List.of("your account was closed, call 555", "x".repeat(400), "a-name")) {
      ObjectNode quoting = Reviews.owned(Reviews.annotated(), "apps/v1", "ReplicaSet", "web-1");
      Reviews.JSON.readerForUpdating(quoting).readValue(pod.replace('\'', '"').formatted(text));
      events.warned("team", quoting, List.of("a warning"));
      assertThat(events.queue.size()).as(text).isEqualTo(text.equals("a-name") ? 1 : 0);
    }
  }

  /** A pod that somebody creates by generateName has no name yet. */
  @Test
  void podsWithoutAName_areEachLogged() {
    ObjectNode pod = Reviews.annotated();
    pod.withObject("/metadata").remove("name");
    FindingOutcome found =
        new FindingOutcome(GuardFinding.PRIVILEGED, "x", FindingOutcome.Outcome.AUDITED, false);
    try (var logged = Logged.by(AdmissionEvents.class)) {
      for (String name : List.of("team/a-*", "team/b-*", "team/a-*")) {
        events.found(name, Reviews.created("team", pod), found);
      }
      assertThat(logged.messages()).hasSize(2).first().asString().contains("team/a-*");
    }
  }
}
