package dev.tranche.extender.controller;

import static java.net.HttpURLConnection.HTTP_CONFLICT;
import static java.net.HttpURLConnection.HTTP_INTERNAL_ERROR;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.state.ApiServer.BindOutcome;
import dev.tranche.process.client.ApiClient;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.http.HttpRequest;
import io.fabric8.kubernetes.client.http.HttpResponse;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Posts Bindings, and reads the pod if the response doesn't tell where it is. Blocks.
 *
 * @param client that tries once, see {@link ApiWriter}
 */
record Binder(KubernetesClient client) {
  /** A fallback: the client's own timeout is shorter, but may not cover everything. */
  private static final long ANSWER_S_MAX = 15;

  /** Posts a Binding. If this throws, the Binding has not been sent. */
  BindOutcome bind(PodFacts pod, String node, Map<String, String> annotations) {
    HttpRequest request = request(pod, node, annotations);
    var sent = client.getHttpClient().sendAsync(request, byte[].class);
    try {
      return outcome(pod, node, sent.get(ANSWER_S_MAX, TimeUnit.SECONDS));
    } catch (ExecutionException lost) {
      return readOutcome(pod, node, causeMessage(lost), false);
    } catch (TimeoutException late) {
      return readOutcome(pod, node, "no answer within " + ANSWER_S_MAX + " s", false);
    } catch (InterruptedException end) {
      Thread.currentThread().interrupt();
      return new BindOutcome.Unknown("the extender is shutting down");
    } catch (Throwable bug) {
      // Errors too: the Binding was sent, even if the response can't be read.
      return new BindOutcome.Unknown(bug.toString());
    }
  }

  private static String causeMessage(ExecutionException lost) {
    Throwable cause =
        lost.getCause() instanceof CompletionException e ? e.getCause() : lost.getCause();
    return String.valueOf(cause == null ? lost.getMessage() : cause.getMessage());
  }

  /**
   * Builds the request directly. The client's own method would build objects from the text, for
   * each pod.
   */
  private HttpRequest request(PodFacts pod, String node, Map<String, String> annotations) {
    String path = "/api/v1/namespaces/%s/pods/%s/binding".formatted(pod.namespace(), pod.name());
    return ApiClient.request(client, path)
        .post("application/json", binding(pod, node, annotations))
        .build();
  }

  private static String binding(PodFacts pod, String node, Map<String, String> annotations) {
    var meta =
        new JsonObject()
            .put("namespace", pod.namespace())
            .put("name", pod.name())
            .put("uid", pod.uid());
    if (!annotations.isEmpty()) {
      meta.put("annotations", new JsonObject(new LinkedHashMap<String, Object>(annotations)));
    }
    var target = new JsonObject().put("apiVersion", "v1").put("kind", "Node").put("name", node);
    return new JsonObject()
        .put("apiVersion", "v1")
        .put("kind", "Binding")
        .put("metadata", meta)
        .put("target", target)
        .encode();
  }

  private BindOutcome outcome(PodFacts pod, String node, HttpResponse<byte[]> answer) {
    if (answer.isSuccessful()) {
      return new BindOutcome.Bound();
    }
    String why = why(answer);
    boolean conflict = answer.code() == HTTP_CONFLICT;
    return conflict || answer.code() >= HTTP_INTERNAL_ERROR
        ? readOutcome(pod, node, why, conflict)
        : new BindOutcome.Refused(why);
  }

  /** Returns the reason in the response, with its message if it has one. */
  private static String why(HttpResponse<byte[]> answer) {
    String status = "the API server answers with status " + answer.code();
    try {
      String message = new JsonObject(Buffer.buffer(answer.body())).getString("message");
      return message == null ? status : status + ": " + message;
    } catch (DecodeException | ClassCastException noStatus) {
      return status;
    }
  }

  /**
   * Reads the pod to find out where it is.
   *
   * @param conflict the Binding was certainly not performed
   */
  private BindOutcome readOutcome(PodFacts pod, String node, String why, boolean conflict) {
    try {
      Pod now = client.pods().inNamespace(pod.namespace()).withName(pod.name()).get();
      if (now == null || !pod.uid().equals(now.getMetadata().getUid())) {
        return new BindOutcome.Refused("the pod is gone");
      }
      String on = now.getSpec().getNodeName();
      if (on == null || on.isEmpty()) {
        return conflict ? new BindOutcome.Refused(why) : new BindOutcome.Unknown(why);
      }
      return on.equals(node) ? new BindOutcome.Bound() : new BindOutcome.BoundElsewhere(on);
    } catch (RuntimeException | LinkageError unreadable) {
      return new BindOutcome.Unknown(
          why + "; and the pod could not be read: " + unreadable.getMessage());
    }
  }
}
