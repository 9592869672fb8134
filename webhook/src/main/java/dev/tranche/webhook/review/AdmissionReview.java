package dev.tranche.webhook.review;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.guard.FindingOutcome;
import dev.tranche.webhook.guard.Verdict;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.Problem;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Builds AdmissionReview responses in the wire format {@code admission.k8s.io/v1}. */
final class AdmissionReview {
  static final String API_VERSION = "admission.k8s.io/v1";
  private static final int FORBIDDEN = 403;
  private static final ObjectMapper JSON = new ObjectMapper();

  private AdmissionReview() {}

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
      case Verdict.Denied(Problem problem) -> deny(response, problem.sentence());
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

  /**
   * Adds the findings as audit annotations. The API server records them in its audit log, with the
   * webhook entry's name as prefix.
   */
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
