package dev.tranche.extender.readapi.query;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;

/** A problem as a Kubernetes {@code Status}, whose message kubectl prints. */
public final class KubernetesStatus {
  private KubernetesStatus() {}

  public static JsonObject of(Problem problem) {
    var causes = new JsonArray();
    problem
        .errors()
        .forEach(
            invalid ->
                causes.add(
                    new JsonObject()
                        .put("reason", "FieldValueInvalid")
                        .put("field", invalid.field())
                        .put("message", "allowed: " + invalid.allowed())));
    var json =
        new JsonObject()
            .put("kind", "Status")
            .put("apiVersion", "v1")
            .put("metadata", new JsonObject())
            .put("status", "Failure")
            .put("message", problem.detail())
            .put("reason", reason(problem.status()))
            .put("code", problem.status());
    return causes.isEmpty() ? json : json.put("details", new JsonObject().put("causes", causes));
  }

  /** Returns the {@code metav1.StatusReason} of an HTTP status. */
  private static String reason(int status) {
    return switch (status) {
      case 400 -> "BadRequest";
      case 401 -> "Unauthorized";
      case 403 -> "Forbidden";
      case 404 -> "NotFound";
      case 405 -> "MethodNotAllowed";
      case 410 -> "Expired";
      case 413 -> "RequestEntityTooLarge";
      case 429 -> "TooManyRequests";
      case 503 -> "ServiceUnavailable";
      default -> "InternalError";
    };
  }
}
