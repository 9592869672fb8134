package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.PlainApi;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.state.ApiServer.BindOutcome;
import dev.tranche.process.client.ApiClient;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What becomes of a binding, by what the API server answers. */
final class BinderIT {
  private static final int SILENCE = 0;
  private static final int HANG_UP = -1;

  @AutoClose private final PlainApi api = new PlainApi(this::answer);
  private final ConcurrentLinkedQueue<JsonObject> posted = new ConcurrentLinkedQueue<>();
  private volatile int status = 201;
  private volatile String answer = "{}";

  private volatile int podStatus = 200;

  /** What a read of the pod finds; empty: there is none. */
  private volatile String pod = "";

  private void answer(HttpServerRequest request) {
    if (request.method().equals(HttpMethod.GET)) {
      var _ = request.response().setStatusCode(pod.isEmpty() ? 404 : podStatus).end(pod);
    } else {
      var _ = request.body().onSuccess(body -> answer(request, body.toJsonObject()));
    }
  }

  private void answer(HttpServerRequest request, JsonObject binding) {
    posted.add(binding);
    if (status == HANG_UP) {
      var _ = request.connection().close();
    } else if (status != SILENCE) {
      var _ = request.response().setStatusCode(status).end(answer);
    }
  }

  private void answers(int code, String message) {
    status = code;
    answer = new JsonObject().put("kind", "Status").put("message", message).encode();
  }

  private static String podOn(String uid, String node) {
    return new JsonObject()
        .put("kind", "Pod")
        .put("apiVersion", "v1")
        .put("metadata", new JsonObject().put("name", "trainer").put("uid", uid))
        .put("spec", new JsonObject().put("nodeName", node))
        .encode();
  }

  private BindOutcome bind() throws Exception {
    return bind(10_000);
  }

  private BindOutcome bind(int timeoutMs) throws Exception {
    PodFacts facts = ApiWriterIT.pod("trainer", "uid-1");
    return new Binder(ApiClient.withoutRetries(api.client, timeoutMs))
        .bind(facts, "node-a", Map.of(Names.GPU, "GPU-a0", Names.GRANTED_MEMORY, "7.9Gi"));
  }

  @Test
  void accepted_isBound() throws Exception {
    assertThat(bind()).isEqualTo(new BindOutcome.Bound());
    JsonObject sent = posted.remove();
    assertThat(sent.getString("kind")).isEqualTo("Binding");
    assertThat(sent.getJsonObject("metadata").getString("uid")).isEqualTo("uid-1");
    JsonObject annotations = sent.getJsonObject("metadata").getJsonObject("annotations");
    assertThat(annotations.getString(Names.GPU)).isEqualTo("GPU-a0");
    assertThat(annotations.getString(Names.GRANTED_MEMORY)).isEqualTo("7.9Gi");
    assertThat(sent.getJsonObject("target").getString("name")).isEqualTo("node-a");
  }

  @Test
  void refused_isSaidInTheApiServersWords() throws Exception {
    answers(403, "serviceaccounts may not bind");
    assertThat(bind())
        .isEqualTo(
            new BindOutcome.Refused(
                "the API server answers with status 403: serviceaccounts may not bind"));
    answer = "<html>a proxy's</html>";
    assertThat(bind()).isEqualTo(new BindOutcome.Refused("the API server answers with status 403"));
  }

  @Test
  void conflict_isAsThePodSays() throws Exception {
    answers(409, "pod trainer is already assigned to a node");
    pod = podOn("uid-1", "node-a");
    assertThat(bind()).isEqualTo(new BindOutcome.Bound());
    pod = podOn("uid-1", "node-b");
    assertThat(bind()).isEqualTo(new BindOutcome.BoundElsewhere("node-b"));
    pod = podOn("uid-1", "");
    assertThat(bind()).isInstanceOf(BindOutcome.Refused.class);
    pod = podOn("uid-2", "node-a");
    assertThat(bind()).isEqualTo(new BindOutcome.Refused("the pod is gone"));
  }

  @Test
  void failure_isUnknown_unlessThePodIsBound() throws Exception {
    answers(500, "etcdserver: request timed out");
    pod = podOn("uid-1", "");
    assertThat(bind())
        .isEqualTo(
            new BindOutcome.Unknown(
                "the API server answers with status 500: etcdserver: request timed out"));
    pod = podOn("uid-1", "node-a");
    assertThat(bind()).isEqualTo(new BindOutcome.Bound());
  }

  @Test
  void lostConnection_isUnknown_unlessThePodIsBound() throws Exception {
    status = HANG_UP;
    pod = podOn("uid-1", "node-a");
    assertThat(bind()).isEqualTo(new BindOutcome.Bound());
    pod = podOn("uid-1", "");
    assertThat(bind()).isEqualTo(new BindOutcome.Unknown("Connection was closed"));
    podStatus = 503;
    assertThat(bind())
        .isInstanceOfSatisfying(
            BindOutcome.Unknown.class,
            unknown ->
                assertThat(unknown.why())
                    .startsWith("Connection was closed; and the pod could not be read: "));
  }

  @Test
  void silence_ends_andThePodIsLookedAt() throws Exception {
    status = SILENCE;
    pod = podOn("uid-1", "");
    // The look itself may be too late on a slow machine.
    assertThat(bind(1_000))
        .isInstanceOfSatisfying(
            BindOutcome.Unknown.class,
            unknown -> assertThat(unknown.why()).startsWith("The timeout period of "));
    assertThat(posted).hasSize(1);
  }
}
