package dev.tranche.extender.readapi.query;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Printable;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Why a request is refused: a problem document of RFC 9457.
 *
 * @param detail what is wrong and what to do
 * @param errors the parameters that are wrong; empty if something else is wrong
 * @param headers of the response
 */
public record Problem(
    int status, String title, String detail, List<Invalid> errors, Map<String, String> headers) {
  public static final String TYPE = "application/problem+json";

  private static final String RETRY_AFTER = "Retry-After";

  /**
   * A parameter that is wrong.
   *
   * @param value as sent
   * @param allowed what is allowed, as the end of a sentence
   */
  public record Invalid(String field, String value, String allowed) {
    public Invalid {
      field = Printable.value(field);
      value = Printable.value(value);
    }

    private String sentence() {
      return "%s is \"%s\"; allowed: %s".formatted(field, value, allowed);
    }
  }

  public static Problem badRequest(Invalid invalid) {
    return new Problem(400, "Invalid parameter", invalid.sentence(), List.of(invalid), Map.of());
  }

  public static Problem badRequest(String detail) {
    return of(400, "Invalid request", detail);
  }

  public static Problem of(int status, String title, String detail) {
    return new Problem(status, title, detail, List.of(), Map.of());
  }

  public static Problem notFound(String detail) {
    return of(404, "Not found", detail);
  }

  private Problem with(String header, String value) {
    return new Problem(status, title, detail, errors, Map.of(header, value));
  }

  public static Problem unauthorized(String detail) {
    return of(401, "Unauthorized", detail).with("WWW-Authenticate", "Bearer");
  }

  public static Problem methodNotAllowed(String allowed) {
    String detail = "nothing can be changed here; the only method of this path is " + allowed;
    return of(405, "Method not allowed", detail).with("Allow", allowed);
  }

  public static Problem tooLarge(int bytesMax) {
    String detail =
        "the body is longer than %d MiB, which is too large for a Pod".formatted(bytesMax >> 20);
    return of(413, "Content too large", detail);
  }

  public static Problem notJson(String type) {
    return new Problem(
        415,
        "Unsupported media type",
        "the body has to be a Pod as application/json",
        List.of(new Invalid("Content-Type", type, "application/json")),
        Map.of());
  }

  public static Problem tooMany(String detail) {
    return of(429, "Too many requests", detail).with(RETRY_AFTER, "1");
  }

  /**
   * @param what requests, in the plural
   */
  public static Problem tooMany(int perSecondMax, String what) {
    return tooMany(
        "at most %d %s a second are answered; retry in a second".formatted(perSecondMax, what));
  }

  public static Problem unavailable(String detail) {
    return of(503, "Service unavailable", detail).with(RETRY_AFTER, "1");
  }

  public static Problem failed() {
    return of(500, "Internal error", "the extender failed; its log says how");
  }

  /** Returns it as a Kubernetes {@code Status}, whose message kubectl prints. */
  public ObjectNode kubernetesStatus() {
    ObjectNode object =
        JsonNodeFactory.instance.objectNode().put("kind", "Status").put("apiVersion", "v1");
    object.putObject("metadata");
    return object
        .put("status", "Failure")
        .put("message", detail)
        .put("reason", reason())
        .put("code", status);
  }

  /** Returns the {@code metav1.StatusReason} of the HTTP status. */
  private String reason() {
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

  /** What is sent. */
  public record ProblemDocument(
      String type, String title, int status, String detail, @Nullable List<Invalid> errors) {}

  public ProblemDocument document() {
    return new ProblemDocument(
        "about:blank", title, status, detail, errors.isEmpty() ? null : errors);
  }
}
