package dev.tranche.webhook.review;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Printable;
import dev.tranche.webhook.guard.FindingOutcome;
import dev.tranche.webhook.guard.GuardedPod;
import dev.tranche.webhook.guard.Verdict;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Mutation;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The wire form of admission: {@code admission.k8s.io/v1}. */
final class AdmissionReview {
  static final String API_VERSION = "admission.k8s.io/v1";
  private static final int FORBIDDEN = 403;
  private static final ObjectMapper JSON = new ObjectMapper();

  private AdmissionReview() {}

  /** What became of a request's body. */
  sealed interface Read {
    /**
     * @param who namespace and name of the pod, for the log
     * @param pod that is being created
     */
    record PodCreation(String uid, String who, JsonNode pod) implements Read {}

    /**
     * A pod that the guard judges: one that is being created, or gets ephemeral containers.
     *
     * @param dryRun nothing is stored, so nothing may be written elsewhere
     */
    record Guarded(String uid, String who, GuardedPod pod, boolean dryRun) implements Read {}

    /** Anything else: a rule of the configuration is wider than ours. */
    record NotOurs(String uid) implements Read {}

    /**
     * @param reason a sentence
     */
    record Malformed(String reason) implements Read {}

    /**
     * A review that is refused for what it is.
     *
     * @param reason a sentence for the user
     */
    record Refused(String uid, String reason) implements Read {}
  }

  /** For the fraction entry. */
  static Read read(byte[] body) {
    return switch (ReviewReader.read(body, ReviewReader.Keep.POD)) {
      case ReviewReader.Raw.Broken(String reason) -> new Read.Malformed(reason);
      case ReviewReader.Raw.Unread(String uid, String reason) -> new Read.Refused(uid, reason);
      case ReviewReader.Raw.Request request ->
          created(request)
              ? new Read.PodCreation(request.uid(), who(request), request.object())
              : new Read.NotOurs(request.uid());
    };
  }

  /** For the guard entry. */
  static Read readGuarded(byte[] body) {
    return switch (ReviewReader.read(body, ReviewReader.Keep.REACH)) {
      case ReviewReader.Raw.Broken(String reason) -> new Read.Malformed(reason);
      case ReviewReader.Raw.Unread(String uid, String reason) -> new Read.Refused(uid, reason);
      case ReviewReader.Raw.Request request -> {
        if (created(request)) {
          var candidate = GuardedPod.created(request.namespace(), request.object());
          yield new Read.Guarded(request.uid(), who(request), candidate, request.dryRun());
        }
        if (debugged(request)) {
          var candidate =
              new GuardedPod(request.namespace(), request.object(), request.oldObject());
          yield new Read.Guarded(request.uid(), who(request), candidate, request.dryRun());
        }
        yield new Read.NotOurs(request.uid());
      }
    };
  }

  private static boolean created(ReviewReader.Raw.Request request) {
    return request.operation().equals("CREATE")
        && request.resource().equals("pods")
        && request.subResource().isEmpty()
        && request.object().isObject();
  }

  /** kubectl debug sends the pod with one ephemeral container more. */
  private static boolean debugged(ReviewReader.Raw.Request request) {
    return request.operation().equals("UPDATE")
        && request.resource().equals("pods")
        && request.subResource().equals("ephemeralcontainers")
        && request.object().isObject()
        && request.oldObject().isObject();
  }

  /** A controller's pods have no name yet, but the beginning of one. */
  private static String who(ReviewReader.Raw.Request request) {
    JsonNode metadata = request.object().path("metadata");
    String name = metadata.path("name").asText(metadata.path("generateName").asText("") + "*");
    return Printable.name(request.namespace()) + "/" + Printable.name(name);
  }

  static byte[] answer(String uid, Mutation mutation) {
    ObjectNode review = review(uid);
    ObjectNode response = (ObjectNode) review.path("response");
    switch (mutation) {
      case Mutation.Unchanged(List<String> warnings) -> allow(response, null, warnings);
      case Mutation.Patched(JsonPatch patch, List<String> warnings) ->
          allow(response, patch.operations(), warnings);
      case Mutation.Denied(String message, String reason) -> deny(response, message);
    }
    return bytes(review);
  }

  static byte[] answer(String uid, Verdict verdict) {
    ObjectNode review = review(uid);
    ObjectNode response = (ObjectNode) review.path("response");
    switch (verdict) {
      case Verdict.Exempt exempt -> allow(response, null, List.of());
      case Verdict.Admitted admitted -> {
        allow(response, admitted.patch(), admitted.warnings());
        annotate(response, admitted.found());
      }
      case Verdict.Denied denied -> {
        deny(response, denied.message());
        annotate(response, denied.found());
      }
    }
    return bytes(review);
  }

  /**
   * @param message why the pod is refused, for its owner
   */
  static byte[] denial(String uid, String message) {
    ObjectNode review = review(uid);
    deny((ObjectNode) review.path("response"), message);
    return bytes(review);
  }

  private static ObjectNode review(String uid) {
    ObjectNode review = JsonNodeFactory.instance.objectNode();
    review.put("apiVersion", API_VERSION).put("kind", "AdmissionReview");
    review.putObject("response").put("uid", uid);
    return review;
  }

  private static void allow(ObjectNode response, @Nullable ArrayNode patch, List<String> warnings) {
    response.put("allowed", true);
    if (patch != null && !patch.isEmpty()) {
      response.put("patchType", "JSONPatch").put("patch", bytes(patch));
    }
    if (!warnings.isEmpty()) {
      ArrayNode texts = response.putArray("warnings");
      warnings.forEach(texts::add);
    }
  }

  private static void deny(ObjectNode response, String message) {
    response
        .put("allowed", false)
        .putObject("status")
        .put("code", FORBIDDEN)
        .put("reason", "Forbidden")
        .put("message", message);
  }

  /** The API server writes these into its audit log, under the entry's name. */
  private static void annotate(ObjectNode response, List<FindingOutcome> found) {
    if (!found.isEmpty()) {
      String findings =
          found.stream()
              .map(f -> f.finding() + "=" + f.outcome())
              .distinct()
              .sorted()
              .collect(Collectors.joining(","));
      response.putObject("auditAnnotations").put("findings", findings);
    }
  }

  private static byte[] bytes(JsonNode node) {
    try {
      return JSON.writeValueAsBytes(node);
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException("writing a JSON tree", impossible);
    }
  }
}
