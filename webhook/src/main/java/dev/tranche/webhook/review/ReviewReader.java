package dev.tranche.webhook.review;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.tranche.api.Printable;
import dev.tranche.webhook.compat.HamiAnnotations;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.review.JsonScanner.Unreadable;
import java.util.List;
import java.util.Set;

/**
 * Reads a review and keeps only what is needed. The user, the managed fields and a pod's bulk are
 * skipped, which is most of a large review.
 */
final class ReviewReader {
  /** The API server sends less; deeper nesting would only cost stack. */
  private static final int DEPTH_MAX = 64;

  /**
   * A node of a tree costs up to 130 bytes, however few the body spends on it: {@code {"a":{}}}.
   * The largest of real pods have a tenth of this.
   */
  static final int NODES_MAX = 20_000;

  /**
   * Of all names and values that are kept: what Kubernetes allows of annotations, and as much again
   * thrice.
   */
  static final int TEXT_BYTES_MAX = 1 << 20;

  /** Of all annotations, as Kubernetes counts them. */
  private static final int ANNOTATIONS_BYTES_MAX = 256 << 10;

  private static final int UID_BYTES_MAX = 64;

  /** The name of an object. */
  private static final int NAME_BYTES_MAX = 253;

  /** The key of a label, an annotation or a resource: a domain, a slash and a name. */
  private static final int KEY_BYTES_MAX = 253 + 1 + 63;

  /** A path, as long as Linux takes one; no other value is longer. */
  private static final int PATH_BYTES_MAX = 4_096;

  /** Of a variable only its beginning is told. */
  private static final int VARIABLE_BYTES_MAX = 64;

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
          "image",
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
        case LABELS -> !field.equals(HamiAnnotations.OPT_OUT);
        case SPEC ->
            BULK_OF_SPEC.contains(field) || field.equals(this == POD ? "volumes" : "affinity");
        case CONTAINER ->
            BULK_OF_CONTAINERS.contains(field) || (this == POD && RUNNING.contains(field));
        case VOLUME -> !field.equals("name") && !field.equals("hostPath");
        case MOUNT -> !field.equals("mountPath");
        case OLD_POD -> !field.equals("spec");
        case OLD_SPEC -> !field.equals("ephemeralContainers");
        case OLD_CONTAINER -> !field.equals("name");
        case ANNOTATIONS, VARIABLE, NAMES, BELOW -> false;
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
    ANNOTATIONS,
    NAMES,
    SPEC,
    CONTAINER,
    VOLUME,
    VARIABLE,
    MOUNT,
    /** The pod before, of which only the names of ephemeral containers are compared. */
    OLD_POD,
    OLD_SPEC,
    OLD_CONTAINER,
    BELOW;

    /** Of a field's value; a list hands it on to its elements. */
    Place of(String field) {
      return switch (this) {
        case POD -> field.equals("metadata") ? METADATA : field.equals("spec") ? SPEC : BELOW;
        case SPEC ->
            CONTAINERS.contains(field) ? CONTAINER : field.equals("volumes") ? VOLUME : BELOW;
        case METADATA ->
            switch (field) {
              case "labels" -> LABELS;
              case "annotations" -> ANNOTATIONS;
              default -> NAMES;
            };
        case CONTAINER ->
            switch (field) {
              case "env" -> VARIABLE;
              case "volumeMounts" -> MOUNT;
              default -> BELOW;
            };
        case OLD_POD -> OLD_SPEC;
        case OLD_SPEC -> OLD_CONTAINER;
        case NAMES, ANNOTATIONS -> this;
        case LABELS, VOLUME, VARIABLE, MOUNT, OLD_CONTAINER, BELOW -> BELOW;
      };
    }

    /** How long a value may be that stands in an object of this place. */
    int bytesMax() {
      return switch (this) {
        case ANNOTATIONS -> ANNOTATIONS_BYTES_MAX;
        case POD, METADATA, NAMES -> KEY_BYTES_MAX;
        case SPEC -> NAME_BYTES_MAX;
        default -> PATH_BYTES_MAX;
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
  private static final List<String> TELLING = List.of("NVIDIA", "CUDA", "nvidia", "\\");

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
        implements Raw {
      /** Whether it creates a pod. */
      boolean creates() {
        return operation.equals("CREATE")
            && resource.equals("pods")
            && subResource.isEmpty()
            && object.isObject();
      }

      /** Whether it is kubectl debug's, which sends the pod with one ephemeral container more. */
      boolean debugs() {
        return operation.equals("UPDATE")
            && resource.equals("pods")
            && subResource.equals("ephemeralcontainers")
            && object.isObject()
            && oldObject.isObject();
      }

      /**
       * Namespace and name of the pod, for the log. A controller's pods have no name yet, but the
       * beginning of one.
       */
      String who() {
        JsonNode metadata = object.path("metadata");
        String name = metadata.path("name").asText(metadata.path("generateName").asText("") + "*");
        return Printable.name(namespace) + "/" + Printable.name(name);
      }
    }

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

  private final JsonScanner scan;
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
  private int textBytes;
  private int annotationBytes;

  private ReviewReader(byte[] body, Keep keep) {
    scan = new JsonScanner(body);
    this.keep = keep;
  }

  /** More than Kubernetes would take, or than is read of one pod. */
  private static final class TooLarge extends Unreadable {
    private static final long serialVersionUID = 1;
    private final String has;
    private final String most;

    TooLarge(String has, String most) {
      super("it has %s; allowed are at most %s".formatted(has, most));
      this.has = has;
      this.most = most;
    }
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
    } catch (TooLarge large) {
      return uid.isEmpty()
          ? new Raw.Broken(large.reason())
          : new Raw.Unread(uid, Denial.TOO_LARGE.of(large.has, large.most).sentence());
    } catch (Unreadable broken) {
      return uid.isEmpty()
          ? new Raw.Broken("the body is no JSON: " + broken.reason())
          : new Raw.Unread(
              uid,
              "the API server's review of this pod cannot be read (%s), so it is not known what the pod reaches for; make the pod smaller."
                  .formatted(Printable.value(broken.reason())));
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
        apiVersion = text(field, NAME_BYTES_MAX);
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
      String field = field();
      switch (field) {
        case "uid" -> uid = text(field, UID_BYTES_MAX);
        case "namespace" -> namespace = text(field, NAME_BYTES_MAX);
        case "operation" -> operation = text(field, NAME_BYTES_MAX);
        case "subResource" -> subResource = text(field, NAME_BYTES_MAX);
        case "resource" -> resource = tree(0, field, Place.NAMES).path("resource").asText("");
        case "dryRun" -> dryRun = tree(0, field, Place.NAMES).asBoolean(false);
        case "object" -> object = tree(0, field, Place.POD);
        case "oldObject" -> oldObject = tree(0, field, Place.OLD_POD);
        default -> scan.skip();
      }
    }
  }

  private String field() throws Unreadable {
    String field = string("key", KEY_BYTES_MAX);
    scan.expect(':');
    return field;
  }

  private String text(String field, int bytesMax) throws Unreadable {
    if (scan.peek() == '"') {
      return string(field, bytesMax);
    }
    scan.skip();
    return "";
  }

  private String string(String field, int bytesMax) throws Unreadable {
    String text = scan.string(bytesMax);
    if (text == null) {
      throw new TooLarge(
          "a value of \"%s\" with more than %d bytes".formatted(Printable.value(field), bytesMax),
          bytesMax + " bytes");
    }
    return text;
  }

  /**
   * @param place of the object that the value is a field of
   */
  private TextNode value(String field, Place place) throws Unreadable {
    boolean shown = place == Place.VARIABLE && field.equals("value");
    String value = shown ? scan.beginning(VARIABLE_BYTES_MAX) : string(field, place.bytesMax());
    kept(value);
    if (place == Place.ANNOTATIONS) {
      annotationBytes += field.length() + value.length();
      if (annotationBytes > ANNOTATIONS_BYTES_MAX) {
        throw new TooLarge(
            "more than %d bytes of annotations".formatted(ANNOTATIONS_BYTES_MAX),
            ANNOTATIONS_BYTES_MAX + " bytes");
      }
    }
    return NODES.textNode(value);
  }

  private void kept(String text) throws TooLarge {
    textBytes += text.length();
    if (textBytes > TEXT_BYTES_MAX) {
      throw new TooLarge(
          "names and values of more than %d bytes".formatted(TEXT_BYTES_MAX),
          TEXT_BYTES_MAX + " bytes");
    }
  }

  /**
   * @param place of an object, or of the objects in a list; of a text, where the object stands that
   *     has it
   */
  private JsonNode tree(int depth, String field, Place place) throws Unreadable {
    counted();
    if (depth > DEPTH_MAX) {
      scan.skip();
      return NODES.nullNode();
    }
    return switch (scan.peek()) {
      case '{' -> fields(depth, place);
      case '[' -> elements(depth, field, place);
      case '"' -> value(field, place);
      default -> scan.scalar();
    };
  }

  private ArrayNode elements(int depth, String field, Place place) throws Unreadable {
    ArrayNode array = NODES.arrayNode();
    scan.expect('[');
    for (boolean first = true; scan.more(first, ']'); first = false) {
      array.add(tree(depth + 1, field, place));
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
        continue;
      }
      kept(field);
      fields.set(field, field(depth + 1, field, place));
    }
    return fields;
  }

  private JsonNode field(int depth, String field, Place place) throws Unreadable {
    byte first = scan.peek();
    if (first == '"') {
      counted();
      return value(field, place);
    }
    return keep.shortens(place, field) && first == '['
        ? telling(depth, field, place.of(field))
        : tree(depth, field, place.of(field));
  }

  private void counted() throws TooLarge {
    if (++nodes > NODES_MAX) {
      throw new TooLarge(
          "more than %d fields and list entries".formatted(NODES_MAX), String.valueOf(NODES_MAX));
    }
  }

  /** A list as it is where it may name something of NVIDIA's, else whether it is empty. */
  private JsonNode telling(int depth, String field, Place place) throws Unreadable {
    int from = scan.position();
    scan.skip();
    int to = scan.position();
    String list = scan.text(from, to);
    scan.back(from);
    if (TELLING.stream().anyMatch(list::contains)) {
      return tree(depth, field, place);
    }
    scan.expect('[');
    ArrayNode shortened = NODES.arrayNode();
    if (scan.more(true, ']')) {
      shortened.addNull();
    }
    scan.back(to);
    return shortened;
  }
}
