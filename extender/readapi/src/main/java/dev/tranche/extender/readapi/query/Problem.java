package dev.tranche.extender.readapi.query;

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

  public static Problem unauthorized(String detail) {
    return new Problem(
        401, "Unauthorized", detail, List.of(), Map.of("WWW-Authenticate", "Bearer"));
  }

  public static Problem methodNotAllowed(String allowed) {
    return new Problem(
        405,
        "Method not allowed",
        "nothing can be changed here; the only method of this path is " + allowed,
        List.of(),
        Map.of("Allow", allowed));
  }

  public static Problem tooLarge(int bytesMax) {
    return new Problem(
        413,
        "Content too large",
        "the body is longer than %d MiB, which is too large for a Pod".formatted(bytesMax >> 20),
        List.of(),
        Map.of());
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
    return new Problem(429, "Too many requests", detail, List.of(), Map.of(RETRY_AFTER, "1"));
  }

  /**
   * @param what requests, in the plural
   */
  public static Problem tooMany(int perSecondMax, String what) {
    return tooMany(
        "at most %d %s a second are answered; retry in a second".formatted(perSecondMax, what));
  }

  public static Problem unavailable(String detail) {
    return new Problem(503, "Service unavailable", detail, List.of(), Map.of(RETRY_AFTER, "1"));
  }

  public static Problem failed() {
    return of(500, "Internal error", "the extender failed; its log says how");
  }

  /** What is sent. */
  public record ProblemDocument(
      String type, String title, int status, String detail, @Nullable List<Invalid> errors) {}

  public ProblemDocument document() {
    return new ProblemDocument(
        "about:blank", title, status, detail, errors.isEmpty() ? null : errors);
  }
}
