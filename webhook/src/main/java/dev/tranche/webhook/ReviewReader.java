package dev.tranche.webhook;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Set;

/**
 * Reads a review token by token and keeps only what is looked at: who asks, what changed last and a
 * pod's bulk are skipped unread, which is most of a large review.
 */
final class ReviewReader {
  /** The API server sends less; deeper nesting would only cost stack. */
  private static final int DEPTH_MAX = 64;

  /** A node of a tree costs some 80 bytes, however few the body spends on it: {@code {}}. */
  private static final int NODES_MAX = 50_000;

  /** Of those skipped too, since the parser remembers every name that it meets. */
  private static final int TOKENS_MAX = 300_000;

  private static final JsonFactory FACTORY =
      JsonFactory.builder().disable(JsonFactory.Feature.INTERN_FIELD_NAMES).build();
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  /** How much of the pod is kept. */
  enum Keep {
    /** All that a pod says of itself. */
    POD,
    /** Through what it may reach devices. */
    REACH
  }

  private static final Set<String> NEVER_READ = Set.of("managedFields");

  /** No field that the guard looks at has one of these names within. */
  private static final Set<String> NO_REACH =
      Set.of(
          "managedFields",
          "status",
          "labels",
          "args",
          "command",
          "livenessProbe",
          "readinessProbe",
          "startupProbe",
          "lifecycle",
          "affinity",
          "tolerations",
          "topologySpreadConstraints",
          "imagePullSecrets",
          "hostAliases",
          "ports",
          "readinessGates");

  /** A review as it came. */
  sealed interface Raw {
    /**
     * @param object missing where the review has none, as oldObject
     */
    record Request(
        String uid,
        String namespace,
        String operation,
        String resource,
        String subResource,
        JsonNode object,
        JsonNode oldObject,
        boolean dryRun)
        implements Raw {}

    /**
     * @param reason a sentence
     */
    record Broken(String reason) implements Raw {}

    /**
     * A review that is not read to its end. Nothing but an answer keeps the pod out: an error lets
     * it pass wherever the API server does without us.
     *
     * @param reason a sentence for the user
     */
    record Unread(String uid, String reason) implements Raw {}
  }

  private final JsonParser parser;
  private final Set<String> skipped;
  private String apiVersion = "";
  private String uid = "";
  private String namespace = "";
  private String operation = "";
  private String resource = "";
  private String subResource = "";
  private JsonNode object = MissingNode.getInstance();
  private JsonNode oldObject = MissingNode.getInstance();
  private boolean dryRun;
  private int nodes;
  private int tokens;

  private ReviewReader(JsonParser parser, Keep keep) {
    this.parser = parser;
    this.skipped = keep == Keep.POD ? NEVER_READ : NO_REACH;
  }

  static Raw read(byte[] body, Keep keep) {
    try (JsonParser parser = FACTORY.createParser(body)) {
      return new ReviewReader(parser, keep).read();
    } catch (IOException impossible) {
      throw new IllegalStateException("reading bytes in memory", impossible);
    }
  }

  /**
   * Of a review that has come in part; the API server writes it first.
   *
   * @return empty if it is not there
   */
  static String uid(byte[] beginning) {
    return switch (read(beginning, Keep.REACH)) {
      case Raw.Broken broken -> "";
      case Raw.Unread unread -> unread.uid();
      case Raw.Request whole -> whole.uid();
    };
  }

  private Raw read() throws IOException {
    try {
      if (parser.nextToken() == JsonToken.START_OBJECT) {
        review();
      }
      return raw();
    } catch (JsonProcessingException broken) {
      String reason = broken.getOriginalMessage();
      return uid.isEmpty()
          ? new Raw.Broken("the body is no JSON: " + reason)
          : new Raw.Unread(
              uid,
              "the API server's review of this pod cannot be read (%s), so it is not known what the pod reaches for; make the pod smaller."
                  .formatted(Shown.of(reason)));
    }
  }

  private Raw raw() {
    if (!apiVersion.equals(AdmissionReview.API_VERSION) || uid.isEmpty()) {
      return new Raw.Broken(
          "the body is no AdmissionReview of %s with a request.uid; its apiVersion is \"%s\""
              .formatted(AdmissionReview.API_VERSION, apiVersion));
    }
    return new Raw.Request(
        uid, namespace, operation, resource, subResource, object, oldObject, dryRun);
  }

  private void review() throws IOException {
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String field = parser.currentName();
      JsonToken value = parser.nextToken();
      if (field.equals("apiVersion")) {
        apiVersion = text();
      } else if (field.equals("request") && value == JsonToken.START_OBJECT) {
        request();
      } else {
        skip();
      }
    }
  }

  private void request() throws IOException {
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String field = parser.currentName();
      parser.nextToken();
      switch (field) {
        case "uid" -> uid = text();
        case "namespace" -> namespace = text();
        case "operation" -> operation = text();
        case "subResource" -> subResource = text();
        case "resource" -> resource = tree(0).path("resource").asText("");
        case "dryRun" -> dryRun = parser.currentToken() == JsonToken.VALUE_TRUE;
        case "object" -> object = tree(0);
        case "oldObject" -> oldObject = tree(0);
        default -> skip();
      }
    }
  }

  private String text() throws IOException {
    if (parser.currentToken() == JsonToken.VALUE_STRING) {
      return parser.getText();
    }
    skip();
    return "";
  }

  /** Steps over a value. */
  private void skip() throws IOException {
    int open = 0;
    do {
      count();
      JsonToken token = parser.currentToken();
      if (token.isStructStart()) {
        open++;
      } else if (token.isStructEnd()) {
        open--;
      }
    } while (open > 0 && parser.nextToken() != null);
  }

  private void count() throws StreamConstraintsException {
    if (++tokens > TOKENS_MAX) {
      throw new StreamConstraintsException("it has more than " + TOKENS_MAX + " tokens");
    }
  }

  private JsonNode tree(int depth) throws IOException {
    count();
    if (++nodes > NODES_MAX) {
      throw new StreamConstraintsException("it has more than " + NODES_MAX + " values");
    }
    if (depth > DEPTH_MAX) {
      skip();
      return NODES.nullNode();
    }
    return switch (parser.currentToken()) {
      case START_OBJECT -> fields(depth);
      case START_ARRAY -> {
        ArrayNode array = NODES.arrayNode();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
          array.add(tree(depth + 1));
        }
        yield array;
      }
      case VALUE_STRING -> NODES.textNode(parser.getText());
      case VALUE_TRUE -> NODES.booleanNode(true);
      case VALUE_FALSE -> NODES.booleanNode(false);
      case VALUE_NUMBER_INT -> integer();
      case VALUE_NUMBER_FLOAT -> NODES.numberNode(parser.getDecimalValue());
      default -> NODES.nullNode();
    };
  }

  private JsonNode integer() throws IOException {
    return switch (parser.getNumberType()) {
      case INT -> NODES.numberNode(parser.getIntValue());
      case LONG -> NODES.numberNode(parser.getLongValue());
      default -> NODES.numberNode(parser.getBigIntegerValue());
    };
  }

  private ObjectNode fields(int depth) throws IOException {
    ObjectNode fields = NODES.objectNode();
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String field = parser.currentName();
      parser.nextToken();
      if (skipped.contains(field)) {
        skip();
      } else {
        fields.set(field, tree(depth + 1));
      }
    }
    return fields;
  }
}
