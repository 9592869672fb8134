package dev.tranche.webhook.review;

import static java.net.HttpURLConnection.HTTP_FORBIDDEN;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.guard.FindingOutcome;
import dev.tranche.webhook.guard.Verdict;
import dev.tranche.webhook.pod.Mutation;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.stream.Collectors;

/** Builds AdmissionReview responses in the wire format {@code admission.k8s.io/v1}. */
final class AdmissionReview {
  static final String API_VERSION = "admission.k8s.io/v1";

  private AdmissionReview() {}

  static Buffer answer(String uid, Verdict verdict) {
    ObjectNode review =
        JsonNodeFactory.instance
            .objectNode()
            .put("apiVersion", API_VERSION)
            .put("kind", "AdmissionReview");
    ObjectNode response = review.putObject("response").put("uid", uid);
    switch (verdict.mutation()) {
      case Mutation.Admitted admitted -> {
        response.put("allowed", true);
        if (!admitted.patch().isEmpty()) {
          response
              .put("patchType", "JSONPatch")
              .put("patch", admitted.patch().toString().getBytes(UTF_8));
        }
      }
      case Mutation.Denied denied ->
          response
              .put("allowed", false)
              .putObject("status")
              .put("code", HTTP_FORBIDDEN)
              .put("reason", "Forbidden")
              .put("message", denied.message());
    }
    List<String> warnings = verdict.mutation().warnings();
    if (!warnings.isEmpty()) {
      warnings.forEach(response.putArray("warnings")::add);
    }
    annotate(response, verdict.found());
    return Buffer.buffer(review.toString());
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
}
