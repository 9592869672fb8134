package dev.tranche.webhook;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.JsonScan.Unreadable;
import java.util.List;
import java.util.Set;

/**
 * Reads a review and keeps only what is looked at: who asks, what changed last and a pod's bulk are
 * stepped over, which is most of a large review.
 */
final class ReviewReader {
  /** The API server sends less; deeper nesting would only cost stack. */
  private static final int DEPTH_MAX = 64;

  /** A node of a tree costs some 80 bytes, however few the body spends on it: {@code {}}. */
  private static final int NODES_MAX = 50_000;

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  /** Large, and of no interest to either. */
  private static final Set<String> BULK_OF_SPEC =
      Set.of(
          "tolerations",
          "topologySpreadConstraints",
          "imagePullSecrets",
          "hostAliases",
          "readinessGates");

  private static final Set<String> BULK_OF_CONTAINERS =
      Set.of(
          "args",
          "command",
          "livenessProbe",
          "readinessProbe",
          "startupProbe",
          "lifecycle",
          "ports");

  /** How a container runs, which a share changes nothing of. */
  private static final Set<String> RUNNING =
      Set.of("env", "envFrom", "volumeMounts", "volumeDevices");

  /**
   * How much of the pod is kept: all but some fields of some objects, so that whoever looks at a
   * new field finds it.
   */
  enum Keep {
    /** What the rewriting of a pod reads. */
    POD,
    /** Through what it may reach devices. */
    REACH;

    private boolean skips(Place place, String field) {
      return switch (place) {
        case POD -> field.equals("status");
        case METADATA -> field.equals("managedFields") || (this == REACH && field.equals("labels"));
        case LABELS -> !field.equals(HamiWords.OPT_OUT);
        case SPEC ->
            BULK_OF_SPEC.contains(field) || field.equals(this == POD ? "volumes" : "affinity");
        case CONTAINER ->
            BULK_OF_CONTAINERS.contains(field) || (this == POD && RUNNING.contains(field));
        case BELOW -> false;
      };
    }

    /** Whether only a list that names something of NVIDIA's is kept as it is. */
    private boolean shortens(Place place, String field) {
      return this == REACH && place == Place.CONTAINER && NAMING.contains(field);
    }
  }

  /** Where in a pod an object stands. */
  private enum Place {
    POD,
    METADATA,
    LABELS,
    SPEC,
    CONTAINER,
    BELOW;

    /** Of a field's value; a list hands it on to its elements. */
    Place of(String field) {
      return switch (this) {
        case POD -> field.equals("metadata") ? METADATA : field.equals("spec") ? SPEC : BELOW;
        case SPEC -> CONTAINERS.contains(field) ? CONTAINER : BELOW;
        case METADATA -> field.equals("labels") ? LABELS : BELOW;
        case LABELS, CONTAINER, BELOW -> BELOW;
      };
    }
  }

  private static final Set<String> CONTAINERS =
      Set.of("containers", "initContainers", "ephemeralContainers");

  /**
   * Lists of a container, long and seldom of interest, whose elements name GPUs or their limits.
   */
  private static final Set<String> NAMING = Set.of("env", "volumeMounts");

  /** In a list without these no variable and no path is NVIDIA's; escaped, anything may be. */
  private static final List<byte[]> TELLING =
      List.of(
          "NVIDIA".getBytes(US_ASCII),
          "CUDA".getBytes(US_ASCII),
          "nvidia".getBytes(US_ASCII),
          "\\".getBytes(US_ASCII));

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

  private final JsonScan scan;
  private final Keep keep;
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

  private ReviewReader(byte[] body, Keep keep) {
    scan = new JsonScan(body);
    this.keep = keep;
  }

  static Raw read(byte[] body, Keep keep) {
    return new ReviewReader(body, keep).read();
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

  private Raw read() {
    try {
      if (!scan.atEnd() && scan.peek() == '{') {
        review();
      }
      return raw();
    } catch (Unreadable broken) {
      return uid.isEmpty()
          ? new Raw.Broken("the body is no JSON: " + broken.reason())
          : new Raw.Unread(
              uid,
              "the API server's review of this pod cannot be read (%s), so it is not known what the pod reaches for; make the pod smaller."
                  .formatted(Shown.of(broken.reason())));
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

  private void review() throws Unreadable {
    scan.expect('{');
    for (boolean first = true; scan.more(first, '}'); first = false) {
      String field = field();
      if (field.equals("apiVersion")) {
        apiVersion = text();
      } else if (field.equals("request") && scan.peek() == '{') {
        request();
      } else {
        scan.skip();
      }
    }
  }

  private void request() throws Unreadable {
    scan.expect('{');
    for (boolean first = true; scan.more(first, '}'); first = false) {
      switch (field()) {
        case "uid" -> uid = text();
        case "namespace" -> namespace = text();
        case "operation" -> operation = text();
        case "subResource" -> subResource = text();
        case "resource" -> resource = tree(0, Place.BELOW).path("resource").asText("");
        case "dryRun" -> dryRun = tree(0, Place.BELOW).asBoolean(false);
        case "object" -> object = tree(0, Place.POD);
        case "oldObject" -> oldObject = tree(0, Place.POD);
        default -> scan.skip();
      }
    }
  }

  private String field() throws Unreadable {
    String field = scan.string();
    scan.expect(':');
    return field;
  }

  private String text() throws Unreadable {
    if (scan.peek() == '"') {
      return scan.string();
    }
    scan.skip();
    return "";
  }

  private JsonNode tree(int depth, Place place) throws Unreadable {
    if (++nodes > NODES_MAX) {
      throw new Unreadable("it has more than " + NODES_MAX + " values");
    }
    if (depth > DEPTH_MAX) {
      scan.skip();
      return NODES.nullNode();
    }
    return switch (scan.peek()) {
      case '{' -> fields(depth, place);
      case '[' -> elements(depth, place);
      case '"' -> NODES.textNode(scan.string());
      default -> scan.scalar();
    };
  }

  private ArrayNode elements(int depth, Place place) throws Unreadable {
    ArrayNode array = NODES.arrayNode();
    scan.expect('[');
    for (boolean first = true; scan.more(first, ']'); first = false) {
      array.add(tree(depth + 1, place));
    }
    return array;
  }

  private ObjectNode fields(int depth, Place place) throws Unreadable {
    ObjectNode fields = NODES.objectNode();
    scan.expect('{');
    for (boolean first = true; scan.more(first, '}'); first = false) {
      String field = field();
      if (keep.skips(place, field)) {
        scan.skip();
      } else if (keep.shortens(place, field) && scan.peek() == '[') {
        fields.set(field, telling(depth + 1));
      } else {
        fields.set(field, tree(depth + 1, place.of(field)));
      }
    }
    return fields;
  }

  /** A list as it is where it may name something of NVIDIA's, else whether it is empty. */
  private JsonNode telling(int depth) throws Unreadable {
    int from = scan.position();
    scan.skip();
    int to = scan.position();
    for (byte[] word : TELLING) {
      if (scan.holds(word, from, to)) {
        scan.back(from);
        return tree(depth, Place.BELOW);
      }
    }
    scan.back(from);
    scan.expect('[');
    ArrayNode list = NODES.arrayNode();
    if (scan.more(true, ']')) {
      list.addNull();
    }
    scan.back(to);
    return list;
  }
}
