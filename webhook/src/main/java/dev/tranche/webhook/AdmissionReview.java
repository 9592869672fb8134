package dev.tranche.webhook;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;

/** The wire form of admission: {@code admission.k8s.io/v1}. */
final class AdmissionReview {
  private static final String API_VERSION = "admission.k8s.io/v1";
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

    /** Anything but the creation of a pod: a rule of the configuration is wider than ours. */
    record NotOurs(String uid) implements Read {}

    /**
     * @param reason a sentence
     */
    record Malformed(String reason) implements Read {}
  }

  static Read read(byte[] body) {
    JsonNode review;
    try {
      review = JSON.readTree(body);
    } catch (JsonProcessingException broken) {
      return new Read.Malformed("the body is no JSON: " + broken.getOriginalMessage());
    } catch (IOException impossible) {
      throw new IllegalStateException("reading bytes in memory", impossible);
    }
    String version = review.path("apiVersion").asText("");
    String uid = review.path("request").path("uid").asText("");
    if (!version.equals(API_VERSION) || uid.isEmpty()) {
      return new Read.Malformed(
          "the body is no AdmissionReview of %s with a request.uid; its apiVersion is \"%s\""
              .formatted(API_VERSION, version));
    }
    JsonNode request = review.path("request");
    JsonNode pod = request.path("object");
    boolean creation =
        request.path("operation").asText("").equals("CREATE")
            && request.path("resource").path("resource").asText("").equals("pods")
            && request.path("subResource").asText("").isEmpty();
    return creation && pod.isObject()
        ? new Read.PodCreation(uid, who(request), pod)
        : new Read.NotOurs(uid);
  }

  /** A controller's pods have no name yet, but the beginning of one. */
  private static String who(JsonNode request) {
    JsonNode metadata = request.path("object").path("metadata");
    String name = metadata.path("name").asText(metadata.path("generateName").asText("") + "*");
    return request.path("namespace").asText("") + "/" + name;
  }

  static byte[] answer(String uid, Mutation mutation) {
    ObjectNode review = JsonNodeFactory.instance.objectNode();
    review.put("apiVersion", API_VERSION).put("kind", "AdmissionReview");
    ObjectNode response = review.putObject("response").put("uid", uid);
    switch (mutation) {
      case Mutation.Unchanged(List<String> warnings) -> {
        response.put("allowed", true);
        warn(response, warnings);
      }
      case Mutation.Patched(JsonPatch patch, List<String> warnings) -> {
        response.put("allowed", true).put("patchType", "JSONPatch");
        response.put("patch", bytes(patch.operations()));
        warn(response, warnings);
      }
      case Mutation.Denied(String message) -> {
        response.put("allowed", false);
        response
            .putObject("status")
            .put("code", FORBIDDEN)
            .put("reason", "Forbidden")
            .put("message", message);
      }
    }
    return bytes(review);
  }

  private static void warn(ObjectNode response, List<String> warnings) {
    if (!warnings.isEmpty()) {
      ArrayNode texts = response.putArray("warnings");
      warnings.forEach(texts::add);
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
