package dev.tranche.webhook.events;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.MockApi;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.guard.Finding;
import dev.tranche.webhook.guard.FindingOutcome;
import dev.tranche.webhook.guard.GuardedPod;
import dev.tranche.webhook.metrics.WebhookMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.EventBuilder;
import io.fabric8.kubernetes.api.model.ObjectReferenceBuilder;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An Event is about what there is; a review may name anything. */
class AdmissionEventsIT {
  private final MockApi api = new MockApi();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final AdmissionEvents events =
      new AdmissionEvents(api.client(), new WebhookMetrics(registry));

  @BeforeEach
  void pod() {
    api.client()
        .pods()
        .inNamespace("team")
        .resource(new PodBuilder().withNewMetadata().withName("here").endMetadata().build())
        .create();
  }

  @AfterEach
  void stop() {
    events.close();
    api.close();
  }

  @ParameterizedTest
  @CsvSource({
    "team,v1,Pod,here,1",
    "team,v1,Pod,not-here,0",
    "other,v1,Pod,here,0",
    "team,apps/v1,ReplicaSet,here,0",
    "team,example.com/v1,Anything,here,0",
    "team,v1,Pod,../pods/here,0"
  })
  void eventIsWritten_onlyForAnObjectThatIsThere(
      String namespace, String version, String kind, String name, int written) {
    events.write(event(namespace, version, kind, name));
    events.write(event(namespace, version, kind, name));
    assertThat(written(namespace)).hasSize(2 * written);
    assertThat(registry.get("tranche_webhook_guard_events_dropped").counter().count())
        .isEqualTo(2 - 2 * written);
  }

  @Test
  void attackersReview_bringsNoEventIntoAnotherNamespace() {
    ObjectNode pod = Reviews.annotated();
    pod.withArray("/metadata/ownerReferences")
        .addObject()
        .put("apiVersion", "example.com/v1")
        .put("kind", "Bank")
        .put("name", "your account was closed, call\n555")
        .put("controller", true);
    events.found(
        "x",
        GuardedPod.created("kube-system", pod),
        new FindingOutcome(Finding.PRIVILEGED, "x", FindingOutcome.Outcome.AUDITED, false));
    assertThat(events.queued()).isZero();
  }

  private List<Event> written(String namespace) {
    return api.client().v1().events().inNamespace(namespace).list().getItems();
  }

  private static Event event(String namespace, String version, String kind, String name) {
    return new EventBuilder()
        .withNewMetadata()
        .withGenerateName("tranche-guard-")
        .withNamespace(namespace)
        .endMetadata()
        .withInvolvedObject(
            new ObjectReferenceBuilder()
                .withApiVersion(version)
                .withKind(kind)
                .withNamespace(namespace)
                .withName(name)
                .build())
        .withReason("GpuGuard")
        .build();
  }
}
