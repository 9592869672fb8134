package dev.tranche.extender.readapi.query;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A problem as a Kubernetes {@code Status}, whose message kubectl prints. */
public record KubernetesStatus(
    String kind,
    String apiVersion,
    Map<String, String> metadata,
    String status,
    String message,
    String reason,
    int code,
    @Nullable Details details) {
  /** The parameters that are wrong. */
  public record Details(List<Cause> causes) {}

  /** A parameter that is wrong. */
  public record Cause(String reason, String field, String message) {}

  public static KubernetesStatus of(Problem problem) {
    List<Cause> causes =
        problem.errors().stream()
            .map(
                invalid ->
                    new Cause(
                        "FieldValueInvalid", invalid.field(), "allowed: " + invalid.allowed()))
            .toList();
    return new KubernetesStatus(
        "Status",
        "v1",
        Map.of(),
        "Failure",
        problem.detail(),
        reason(problem.status()),
        problem.status(),
        causes.isEmpty() ? null : new Details(causes));
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
