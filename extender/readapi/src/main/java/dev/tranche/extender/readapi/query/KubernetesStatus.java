package dev.tranche.extender.readapi.query;

import java.util.Map;

/** A problem as a Kubernetes {@code Status}, whose message kubectl prints. */
public record KubernetesStatus(
    String kind,
    String apiVersion,
    Map<String, String> metadata,
    String status,
    String message,
    String reason,
    int code) {
  public static KubernetesStatus of(Problem problem) {
    return new KubernetesStatus(
        "Status",
        "v1",
        Map.of(),
        "Failure",
        problem.detail(),
        reason(problem.status()),
        problem.status());
  }

  /** Returns the {@code metav1.StatusReason} of an HTTP status. */
  private static String reason(int status) {
    return switch (status) {
      case 400 -> "BadRequest";
      case 401 -> "Unauthorized";
      case 403 -> "Forbidden";
      case 404 -> "NotFound";
      case 405 -> "MethodNotAllowed";
      case 413 -> "RequestEntityTooLarge";
      case 429 -> "TooManyRequests";
      case 503 -> "ServiceUnavailable";
      default -> "InternalError";
    };
  }
}
