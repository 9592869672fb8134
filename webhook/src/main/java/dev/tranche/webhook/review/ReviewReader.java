package dev.tranche.webhook.review;

import static dev.tranche.webhook.pod.PodView.text;
import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import dev.tranche.api.Printable;
import dev.tranche.api.RequestBounds;
import dev.tranche.webhook.pod.Denial;
import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads a review as it came: no field is left out, so none can be invisible to a check. What one
 * review may cost is bounded by its size, and by the number and the depth of its values.
 */
final class ReviewReader {
  /** A review of the largest pod with a thousand containers has a quarter of it. */
  static final int BYTES_MAX = 1_536 << 10;

  /** Names, values and brackets. A tree of so many takes a quarter of the heap. */
  static final int TOKENS_MAX = 100_000;

  /** The managed fields of a pod are the deepest, with 15 levels. */
  private static final int DEPTH_MAX = RequestBounds.DEPTH_MAX;

  private static final Pattern UID = Pattern.compile("\"uid\"\\s*:\\s*\"([-\\w]{1,64})\"");
  static final int UID_WITHIN_BYTES = 64 << 10;

  /** Keeps no table of names: whoever creates pods would fill it. */
  private static final ObjectReader JSON =
      new ObjectMapper(
              JsonFactory.builder()
                  .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
                  .streamReadConstraints(
                      StreamReadConstraints.builder()
                          .maxNestingDepth(DEPTH_MAX)
                          .maxStringLength(BYTES_MAX)
                          .maxTokenCount(TOKENS_MAX)
                          .build())
                  .build())
          .reader();

  private ReviewReader() {}

  /** A review as it came. */
  sealed interface Raw {
    /**
     * @param request of the review
     */
    record Request(JsonNode request) implements Raw {
      String uid() {
        return text(request, "uid");
      }

      String namespace() {
        return text(request, "namespace");
      }

      /** Missing or null if the review has none; the same holds for {@link #oldObject}. */
      JsonNode object() {
        return request.path("object");
      }

      JsonNode oldObject() {
        return request.path("oldObject");
      }

      boolean dryRun() {
        return request.path("dryRun").asBoolean();
      }

      /** Whether it creates a pod. */
      boolean createsPod() {
        return isOf("CREATE", "") && object().isObject();
      }

      /** Whether it updates a pod itself, and none of its subresources. */
      boolean updatesPod() {
        return updates("");
      }

      /**
       * Whether it comes from kubectl debug, which sends the pod with one more ephemeral container.
       */
      boolean addsEphemeralContainer() {
        return updates("ephemeralcontainers");
      }

      private boolean updates(String subResource) {
        return isOf("UPDATE", subResource) && object().isObject() && oldObject().isObject();
      }

      private boolean isOf(String operation, String subResource) {
        return text(request, "operation").equals(operation)
            && text(request.path("resource"), "resource").equals("pods")
            && text(request, "subResource").equals(subResource);
      }

      /**
       * Returns the namespace and name of the pod, for the log. A controller's pod has no name yet,
       * only its generateName.
       */
      String podName() {
        JsonNode metadata = object().path("metadata");
        String name = metadata.path("name").asText(text(metadata, "generateName") + "*");
        return Printable.name(namespace()) + "/" + Printable.name(name);
      }
    }

    /**
     * @param reason a sentence
     */
    record Malformed(String reason) implements Raw {}

    /**
     * A review that is not read to its end. Only a denial keeps the pod out: an error would admit
     * it where the failure policy is Ignore.
     *
     * @param reason a sentence for the user
     */
    record Unreadable(String uid, String reason) implements Raw {}
  }

  static Raw read(byte[] body) {
    try {
      JsonNode review = JSON.readTree(body);
      var request = new Raw.Request(review.path("request"));
      String apiVersion = text(review, "apiVersion");
      return apiVersion.equals(AdmissionReview.API_VERSION) && !request.uid().isEmpty()
          ? request
          : new Raw.Malformed(
              "the body is not an AdmissionReview of %s with a request.uid; its apiVersion is \"%s\""
                  .formatted(AdmissionReview.API_VERSION, Printable.value(apiVersion)));
    } catch (StreamConstraintsException large) {
      return unread(
          body,
          Denial.TOO_LARGE.of(
              "more values or levels than the guard checks",
              "%d names and values, and %d levels".formatted(TOKENS_MAX, DEPTH_MAX)));
    } catch (IOException broken) {
      String cause =
          broken instanceof JsonProcessingException of
              ? of.getOriginalMessage()
              : String.valueOf(broken.getMessage());
      return unread(
          body,
          "the API server's review of this pod cannot be read (%s), so the guard cannot check it; make the pod smaller."
              .formatted(Printable.value(cause)));
    }
  }

  private static Raw unread(byte[] body, String reason) {
    String uid = uid(body);
    return uid.isEmpty() ? new Raw.Malformed(reason) : new Raw.Unreadable(uid, reason);
  }

  /**
   * Reads the uid of a review that has arrived only in part, or cannot be read. The API server
   * writes the uid before any other.
   *
   * @return empty if it is not there
   */
  static String uid(byte[] beginning) {
    int bytes = Math.min(beginning.length, UID_WITHIN_BYTES);
    Matcher first = UID.matcher(new String(beginning, 0, bytes, ISO_8859_1));
    return first.find() ? first.group(1) : "";
  }
}
