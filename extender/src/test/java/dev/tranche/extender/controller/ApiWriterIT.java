package dev.tranche.extender.controller;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.PlainApi;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.state.ApiServer.BindOutcome;
import dev.tranche.extender.watch.PodReader;
import dev.tranche.process.client.ApiClient;
import dev.tranche.process.loop.Loop;
import io.fabric8.kubernetes.api.model.EventBuilder;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.http.HttpServerRequest;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Calls of one kind do not keep those of another waiting. */
final class ApiWriterIT {
  private static final int CALL_MS = 60_000;

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final AtomicInteger bindings = new AtomicInteger();
  @AutoClose private final PlainApi server = new PlainApi(this::answer);
  private final ApiWriter api =
      new ApiWriter(
          ApiClient.withoutRetries(server.client, CALL_MS),
          List.of(Names.RESOURCE),
          new Loop(server.vertx.getOrCreateContext()),
          new ExtenderMetrics(registry));

  /** Events are never answered, nor are reads of some pods. */
  private void answer(HttpServerRequest request) {
    if (String.valueOf(request.path()).endsWith("/pods/p")) {
      request.response().setStatusCode(404).end();
    } else if (String.valueOf(request.path()).endsWith("/binding")) {
      bindings.incrementAndGet();
      request.response().setStatusCode(201).end("{}");
    } else if (!String.valueOf(request.path()).endsWith("/events")
        && !String.valueOf(request.path()).contains("/pods/unanswered")) {
      request.response().end("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{}}");
    }
  }

  static PodFacts pod(String name, String uid) {
    return PodReader.fields(
            new PodBuilder()
                .withNewMetadata()
                .withNamespace("team-a")
                .withName(name)
                .withUid(uid)
                .endMetadata()
                .withNewSpec()
                .addNewContainer()
                .withNewResources()
                .addToLimits(Names.RESOURCE, new Quantity("3"))
                .endResources()
                .endContainer()
                .endSpec()
                .build())
        .read()
        .facts(List.of(Names.RESOURCE))
        .orElseThrow();
  }

  @Test
  void wakeUp_doesNotWaitForEvents() throws Exception {
    for (int i = 0; i < 300; i++) {
      var waiting = new EventBuilder().withNewMetadata().withName("w" + i).withNamespace("ns");
      var _ = api.podEvent(waiting.endMetadata().build());
      var event =
          new EventBuilder().withNewMetadata().withName("e" + i).withNamespace("ns").endMetadata();
      var _ = api.event(event.build());
    }
    assertThat(api.wake("node-a").await(30, SECONDS)).isNotNull();
  }

  @Test
  void readForABind_doesNotWaitForChecks() throws Exception {
    for (int i = 0; i < 100; i++) {
      var _ = api.checkedPod("team-a/unanswered" + i);
    }
    assertThat(api.pod("team-a/p").await(30, SECONDS)).isEmpty();
  }

  @Test
  void bindingThatHasExpired_isNotSent() throws Exception {
    assertThat(
            api.bind(
                    pod("p", "u"),
                    "a",
                    Map.of(Names.GPU, "GPU-0"),
                    () -> Optional.of("another leads"))
                .await(30, SECONDS))
        .isEqualTo(new BindOutcome.Refused("another leads"));
    assertThat(bindings).hasValue(0);
    assertThat(registry.counter("tranche.extender.binds.expired").count()).isEqualTo(1);
    assertThat(
            api.bind(pod("p", "u"), "a", Map.of(Names.GPU, "GPU-0"), Optional::empty)
                .await(30, SECONDS))
        .isEqualTo(new BindOutcome.Bound());
    assertThat(bindings).hasValue(1);
  }

  @Test
  void bindingAfterTheDrain_isRefused() throws Exception {
    assertThat(api.drainBinds()).isTrue();
    assertThat(
            api.bind(pod("p", "u"), "a", Map.of(Names.GPU, "GPU-0"), Optional::empty)
                .await(30, SECONDS))
        .isInstanceOf(BindOutcome.Refused.class);
    assertThat(bindings).hasValue(0);
  }
}
