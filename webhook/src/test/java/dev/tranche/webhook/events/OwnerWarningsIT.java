package dev.tranche.webhook.events;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.MockApi;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.review.FractionHandler;
import io.fabric8.kubernetes.api.model.Event;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A controller drops the warnings about its pods, so that they become its Events. */
class OwnerWarningsIT {
  private static final String ROUNDED =
      "container main: 0.25 rounded up to 0.3, because GPUs are split into 10 replicas; with 20"
          + " replicas it is exact";

  private final MockApi api = new MockApi();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final WebhookMetrics metrics = new WebhookMetrics(registry);
  private final AdmissionEvents warnings = new AdmissionEvents(api.client(), metrics);
  private final FractionHandler handler =
      new FractionHandler(
          new PodMutator(
              Reviews.rules(List.of("nvidia.com/gpu"), 10, "tranche-scheduler", "nvidia")),
          uid -> Reviews.cluster(),
          warnings,
          metrics);

  @BeforeEach
  void owner() {
    warnings.start();
  }

  @AfterEach
  void stop() {
    warnings.close();
    api.close();
  }

  @Test
  void warningsOfManyPods_areOneEventOfTheirController_perSentence() {
    for (int i = 0; i < 20; i++) {
      create(owned("ReplicaSet", "apps/v1", "web-1", "web-1-" + i), false);
    }
    assertThat(warnings.queue.size()).isLessThanOrEqualTo(1);
    until("the events", () -> written().size() == 1);
    Event event = written().getFirst();
    assertThat(event.getInvolvedObject().getKind()).isEqualTo("ReplicaSet");
    assertThat(event.getInvolvedObject().getName()).isEqualTo("web-1");
    assertThat(event.getReason()).isEqualTo(AdmissionEvents.WARNING_REASON);
    assertThat(event.getMessage()).isEqualTo(ROUNDED);
  }

  @Test
  void sameWarningOfAnotherReplica_isTheSameEvent_andNotCountedAsDropped() {
    create(owned("ReplicaSet", "apps/v1", "web-1", "web-1-a"), false);
    until("the events", () -> written().size() == 1);
    try (var other = new AdmissionEvents(api.client(), metrics)) {
      other.start();
      other.warned(
          "team", owned("ReplicaSet", "apps/v1", "web-1", "web-1-b"), List.of(ROUNDED, "another"));
      until("the events", () -> written().size() == 2);
    }
    assertThat(dropped()).isZero();
  }

  @Test
  void podWithoutAController_andDryRun_writeNone() {
    create(pod("alone"), false);
    create(owned("ReplicaSet", "apps/v1", "web-1", "web-1-dry"), true);
    assertThat(warnings.queue.size()).isZero();
  }

  @Test
  void queue_isBounded_andWhatIsDroppedIsCounted() {
    warnings.close();
    for (int i = 0; i < 2 * AdmissionEvents.QUEUED_MAX; i++) {
      warnings.warned(
          "team-" + i, owned("ReplicaSet", "apps/v1", "web", "web-1"), List.of(ROUNDED));
    }
    assertThat(warnings.queue.size()).isLessThanOrEqualTo(AdmissionEvents.QUEUED_MAX);
    assertThat(dropped()).isGreaterThanOrEqualTo(AdmissionEvents.QUEUED_MAX - 1);
  }

  private double dropped() {
    return registry.get("tranche_webhook_events_dropped").counter().count();
  }

  private List<Event> written() {
    return api.client().v1().events().inNamespace("team").list().getItems();
  }

  private static ObjectNode pod(String name) {
    ObjectNode pod = Reviews.annotated("gpu-fraction", "0.25");
    pod.withObject("/metadata").put("name", name);
    return pod;
  }

  private static ObjectNode owned(String kind, String version, String owner, String name) {
    return Reviews.owned(pod(name), version, kind, owner);
  }

  private void create(ObjectNode pod, boolean dryRun) {
    String review =
        "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":\"u\",\"resource\":{\"group\":\"\",\"version\":\"v1\",\"resource\":\"pods\"},\"namespace\":\"team\",\"operation\":\"CREATE\",\"object\":%s,\"dryRun\":%s}}"
            .formatted(pod, dryRun);
    handler.review(review.getBytes(StandardCharsets.UTF_8));
  }
}
