package dev.tranche.extender.readapi;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.RequestBounds;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads the fields of a posted Pod that decide its GPU and its nodes, and skips all others. What it
 * keeps is bounded like a pod that is admitted.
 */
final class PostedPod {
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
  private static final String OURS = "tranche.dev/";
  private static final int NUMBER_CHARS_MAX = 128;

  private static final JsonFactory JSON =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(RequestBounds.DEPTH_MAX)
                  .maxNumberLength(NUMBER_CHARS_MAX)
                  .maxStringLength(RequestBounds.TEXT_BYTES_MAX)
                  .build())
          // The names are the caller's; no table may keep them.
          .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .build();

  /** The position of an object in the pod; it decides which of its fields are kept. */
  private enum Place {
    POD,
    METADATA,
    ANNOTATIONS,
    SPEC,
    CONTAINER,
    RESOURCES,
    WHOLE
  }

  private static final Set<String> OF_SPEC =
      Set.of(
          "nodeName",
          "nodeSelector",
          "affinity",
          "tolerations",
          "topologySpreadConstraints",
          "overhead",
          "priority");

  private static final Map<Place, Set<String>> KEPT =
      Map.of(
          Place.POD, Set.of("kind"),
          Place.METADATA, Set.of("name", "namespace", "uid"),
          Place.SPEC, OF_SPEC,
          Place.CONTAINER, Set.of("name", "restartPolicy"),
          Place.RESOURCES, Set.of("limits", "requests"));

  private final JsonParser in;
  private int fields;
  private int textBytes;

  private PostedPod(JsonParser in) {
    this.in = in;
  }

  /** Thrown if the pod is larger than any that is admitted. */
  static final class TooLargeException extends IOException {
    private static final long serialVersionUID = 1;

    TooLargeException(String has, int most) {
      super("%s; allowed are at most %d".formatted(has, most));
    }
  }

  /**
   * @throws IOException if the body is no JSON, or larger than a pod may be
   */
  static JsonNode read(byte[] body) throws IOException {
    try (JsonParser in = JSON.createParser(body)) {
      if (in.nextToken() == null) {
        throw new IOException("the body is empty");
      }
      JsonNode pod = new PostedPod(in).value(Place.POD);
      if (in.nextToken() != null) {
        throw new IOException("the body does not end after its first value");
      }
      return pod;
    }
  }

  /** Reads the current value, and ends at its last token. */
  private JsonNode value(Place place) throws IOException {
    if (++fields > RequestBounds.FIELDS_MAX) {
      throw new TooLargeException("too many fields and list entries", RequestBounds.FIELDS_MAX);
    }
    return switch (in.currentToken()) {
      case START_OBJECT -> object(place);
      case START_ARRAY -> array(place);
      case VALUE_STRING -> NODES.textNode(text(in.getText()));
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> NODES.numberNode(in.getDecimalValue());
      case VALUE_TRUE, VALUE_FALSE -> NODES.booleanNode(in.getBooleanValue());
      case null, default -> NODES.nullNode();
    };
  }

  private ObjectNode object(Place place) throws IOException {
    ObjectNode object = NODES.objectNode();
    while (in.nextToken() != JsonToken.END_OBJECT) {
      String field = in.currentName();
      in.nextToken();
      @Nullable Place kept = placeOf(place, field);
      if (kept == null) {
        in.skipChildren();
      } else {
        object.set(text(field), value(kept));
      }
    }
    return object;
  }

  private ArrayNode array(Place place) throws IOException {
    ArrayNode array = NODES.arrayNode();
    while (in.nextToken() != JsonToken.END_ARRAY) {
      array.add(value(place));
    }
    return array;
  }

  private String text(String text) throws TooLargeException {
    textBytes += text.length();
    if (textBytes > RequestBounds.TEXT_BYTES_MAX) {
      throw new TooLargeException("names and values too long", RequestBounds.TEXT_BYTES_MAX);
    }
    return text;
  }

  /** Returns the place of a field's value; null if the field is skipped. */
  private static @Nullable Place placeOf(Place place, String field) {
    Place inner =
        switch (place) {
          case POD ->
              switch (field) {
                case "metadata" -> Place.METADATA;
                case "spec" -> Place.SPEC;
                default -> null;
              };
          case METADATA -> field.equals("annotations") ? Place.ANNOTATIONS : null;
          case SPEC ->
              field.equals("containers") || field.equals("initContainers") ? Place.CONTAINER : null;
          case CONTAINER -> field.equals("resources") ? Place.RESOURCES : null;
          case ANNOTATIONS -> field.startsWith(OURS) ? Place.WHOLE : null;
          case RESOURCES -> null;
          case WHOLE -> Place.WHOLE;
        };
    boolean kept = inner != null || KEPT.getOrDefault(place, Set.of()).contains(field);
    return kept && inner == null ? Place.WHOLE : inner;
  }
}
