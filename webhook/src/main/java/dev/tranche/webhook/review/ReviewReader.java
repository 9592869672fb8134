package dev.tranche.webhook.review;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.tranche.api.Printable;
import dev.tranche.api.RequestBounds;
import dev.tranche.webhook.compat.HamiAnnotations;
import dev.tranche.webhook.compat.KserveComponent;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.review.JsonScanner.UnreadableException;
import java.util.List;
import java.util.Set;

/**
 * Reads a review and keeps only what is needed. Skips the user, the managed fields and the pod's
 * bulky fields, which make up most of a large review.
 */
final class ReviewReader {
  /** Deeper nesting would only use up the stack. */
  private static final int DEPTH_MAX = RequestBounds.DEPTH_MAX;

  /** The largest real pods have a tenth of this many nodes. */
  static final int NODES_MAX = RequestBounds.FIELDS_MAX;

  static final int TEXT_BYTES_MAX = RequestBounds.TEXT_BYTES_MAX;

  /** Total size of all annotations, counted as Kubernetes does. */
  private static final int ANNOTATIONS_BYTES_MAX = 256 << 10;

  private static final int UID_BYTES_MAX = 64;

  /** The name of an object. */
  private static final int NAME_BYTES_MAX = 253;

  /** The key of a label, an annotation or a resource: a domain, a slash and a name. */
  private static final int KEY_BYTES_MAX = 253 + 1 + 63;

  /** A path, as long as Linux takes one; no other value is longer. */
  private static final int PATH_BYTES_MAX = 4_096;

  /** Only the beginning of a variable's value is reported. */
  private static final int VARIABLE_BYTES_MAX = 64;

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  /** Large fields that are kept for neither the mutation nor the guard. */
  private static final Set<String> BULK_OF_SPEC =
      Set.of("topologySpreadConstraints", "imagePullSecrets", "hostAliases", "readinessGates");

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

  /** Fields of a spec that the guard does not read. */
  private static final Set<String> MUTATION_ONLY = Set.of("affinity", "tolerations");

  /** Fields of a container that the mutation does not read. */
  private static final Set<String> GUARD_ONLY = Set.of("env", "envFrom", "volumeDevices");

  /** Labels that the mutation reads. A pod may have many others. */
  private static final Set<String> READ_LABELS =
      Set.of(HamiAnnotations.OPT_OUT, KserveComponent.SERVICE, KserveComponent.COMPONENT);

  /**
   * What the review is read for. It decides how much of the pod is kept: everything but certain
   * fields of certain objects. Code that reads a new field therefore finds it.
   */
  enum Purpose {
    /** For the mutation of the pod. */
    MUTATION,
    /** For the guard: the fields through which a pod may reach devices. */
    GUARD,
    /** For an update: what the other two may have changed, of the pod before and after. */
    UPDATE;

    private boolean skips(Place place, String field) {
      return switch (place) {
        case POD -> field.equals("status");
        case METADATA ->
            field.equals("managedFields") || (this != MUTATION && field.equals("labels"));
        case LABELS -> !READ_LABELS.contains(field);
        case SPEC ->
            BULK_OF_SPEC.contains(field)
                || (this == GUARD ? MUTATION_ONLY.contains(field) : field.equals("volumes"));
        case CONTAINER ->
            BULK_OF_CONTAINERS.contains(field) || (this == MUTATION && GUARD_ONLY.contains(field));
        case VOLUME -> !field.equals("name") && !field.equals("hostPath");
        case MOUNT -> !field.equals("mountPath");
        case OLD_POD -> !field.equals("spec");
        case OLD_SPEC -> !field.equals("ephemeralContainers");
        case OLD_CONTAINER -> !field.equals("name");
        case ANNOTATIONS, VARIABLE, NAMES, OTHER -> false;
      };
    }

    /** Whether the field is a list that is kept only if it has one of the {@link #markers}. */
    private boolean shortens(Place place, String field) {
      return place == Place.CONTAINER && SHORTENABLE.contains(field);
    }

    private List<String> markers() {
      return this == MUTATION ? SHM_MARKERS : NVIDIA_MARKERS;
    }
  }

  /** The position of an object in the pod. */
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
    /** The pod before the update. Only the names of its ephemeral containers are compared. */
    OLD_POD,
    OLD_SPEC,
    OLD_CONTAINER,
    OTHER;

    /** Returns the place of a field's value. A list passes its place on to its elements. */
    Place of(String field) {
      return switch (this) {
        case POD -> field.equals("metadata") ? METADATA : field.equals("spec") ? SPEC : OTHER;
        case SPEC ->
            CONTAINERS.contains(field) ? CONTAINER : field.equals("volumes") ? VOLUME : OTHER;
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
              default -> OTHER;
            };
        case OLD_POD -> OLD_SPEC;
        case OLD_SPEC -> OLD_CONTAINER;
        case NAMES, ANNOTATIONS -> this;
        case LABELS, VOLUME, VARIABLE, MOUNT, OLD_CONTAINER, OTHER -> OTHER;
      };
    }

    /** Returns the maximum length of a value in an object at this place. */
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
   * Lists of a container whose elements may name GPUs or their limits. They are long, but seldom
   * do.
   */
  private static final Set<String> SHORTENABLE = Set.of("env", "volumeMounts");

  /**
   * A list without these texts names no variable or path of NVIDIA's. A backslash may escape any
   * text, so it counts too.
   */
  private static final List<String> NVIDIA_MARKERS = List.of("NVIDIA", "CUDA", "nvidia", "\\");

  /** A list of mounts without these texts hides no shared memory of MPS. */
  private static final List<String> SHM_MARKERS = List.of("shm", "\\");

  /** A review as it came. */
  sealed interface Raw {
    /**
     * @param object a missing node if the review has none; the same holds for oldObject
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
      boolean createsPod() {
        return operation.equals("CREATE")
            && resource.equals("pods")
            && subResource.isEmpty()
            && object.isObject();
      }

      /** Whether it updates a pod itself, and none of its subresources. */
      boolean updatesPod() {
        return operation.equals("UPDATE")
            && resource.equals("pods")
            && subResource.isEmpty()
            && object.isObject()
            && oldObject.isObject();
      }

      /**
       * Whether it comes from kubectl debug, which sends the pod with one more ephemeral container.
       */
      boolean addsEphemeralContainer() {
        return operation.equals("UPDATE")
            && resource.equals("pods")
            && subResource.equals("ephemeralcontainers")
            && object.isObject()
            && oldObject.isObject();
      }

      /**
       * Returns the namespace and name of the pod, for the log. A controller's pod has no name yet,
       * only its generateName.
       */
      String podName() {
        JsonNode metadata = object.path("metadata");
        String name = metadata.path("name").asText(metadata.path("generateName").asText("") + "*");
        return Printable.name(namespace) + "/" + Printable.name(name);
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

  private final JsonScanner scan;
  private final Purpose purpose;
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

  private ReviewReader(byte[] body, Purpose purpose) {
    scan = new JsonScanner(body);
    this.purpose = purpose;
  }

  /** Thrown if the pod is larger than Kubernetes accepts, or than this class reads. */
  private static final class TooLargeException extends UnreadableException {
    private static final long serialVersionUID = 1;
    private final String has;
    private final String most;

    TooLargeException(String has, String most) {
      super("it has %s; allowed are at most %s".formatted(has, most));
      this.has = has;
      this.most = most;
    }
  }

  static Raw read(byte[] body, Purpose purpose) {
    return new ReviewReader(body, purpose).read();
  }

  /**
   * Reads the uid of a review that has arrived only in part. The API server writes the uid first.
   *
   * @return empty if it is not there
   */
  static String uid(byte[] beginning) {
    return switch (read(beginning, Purpose.GUARD)) {
      case Raw.Malformed malformed -> "";
      case Raw.Unreadable unreadable -> unreadable.uid();
      case Raw.Request whole -> whole.uid();
    };
  }

  private Raw read() {
    try {
      if (!scan.atEnd() && scan.peek() == '{') {
        review();
      }
      return raw();
    } catch (TooLargeException large) {
      return uid.isEmpty()
          ? new Raw.Malformed(large.reason())
          : new Raw.Unreadable(uid, Denial.TOO_LARGE.of(large.has, large.most).sentence());
    } catch (UnreadableException unreadable) {
      return uid.isEmpty()
          ? new Raw.Malformed("the body is not JSON: " + unreadable.reason())
          : new Raw.Unreadable(
              uid,
              "the API server's review of this pod cannot be read (%s), so the guard cannot check it; make the pod smaller."
                  .formatted(Printable.value(unreadable.reason())));
    }
  }

  private Raw raw() {
    if (!apiVersion.equals(AdmissionReview.API_VERSION) || uid.isEmpty()) {
      return new Raw.Malformed(
          "the body is not an AdmissionReview of %s with a request.uid; its apiVersion is \"%s\""
              .formatted(AdmissionReview.API_VERSION, apiVersion));
    }
    return new Raw.Request(
        uid, namespace, operation, resource, subResource, object, oldObject, dryRun);
  }

  private void review() throws UnreadableException {
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

  private void request() throws UnreadableException {
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
        case "oldObject" -> {
          annotationBytes = 0;
          oldObject = tree(0, field, purpose == Purpose.UPDATE ? Place.POD : Place.OLD_POD);
        }
        default -> scan.skip();
      }
    }
  }

  private String field() throws UnreadableException {
    String field = string("key", KEY_BYTES_MAX);
    scan.expect(':');
    return field;
  }

  private String text(String field, int bytesMax) throws UnreadableException {
    if (scan.peek() == '"') {
      return string(field, bytesMax);
    }
    scan.skip();
    return "";
  }

  private String string(String field, int bytesMax) throws UnreadableException {
    String text = scan.string(bytesMax);
    if (text == null) {
      throw new TooLargeException(
          "a value of \"%s\" with more than %d bytes".formatted(Printable.value(field), bytesMax),
          bytesMax + " bytes");
    }
    return text;
  }

  /**
   * @param place the place of the object that has this field
   */
  private TextNode value(String field, Place place) throws UnreadableException {
    boolean shown = place == Place.VARIABLE && field.equals("value");
    String value = shown ? scan.beginning(VARIABLE_BYTES_MAX) : string(field, place.bytesMax());
    countText(value);
    if (place == Place.ANNOTATIONS) {
      annotationBytes += field.length() + value.length();
      if (annotationBytes > ANNOTATIONS_BYTES_MAX) {
        throw new TooLargeException(
            "more than %d bytes of annotations".formatted(ANNOTATIONS_BYTES_MAX),
            ANNOTATIONS_BYTES_MAX + " bytes");
      }
    }
    return NODES.textNode(value);
  }

  private void countText(String text) throws TooLargeException {
    textBytes += text.length();
    if (textBytes > TEXT_BYTES_MAX) {
      throw new TooLargeException(
          "names and values of more than %d bytes".formatted(TEXT_BYTES_MAX),
          TEXT_BYTES_MAX + " bytes");
    }
  }

  /**
   * @param place the place of an object, or of the objects in a list; for a text, the place of the
   *     object that contains it
   */
  private JsonNode tree(int depth, String field, Place place) throws UnreadableException {
    countNode();
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

  private ArrayNode elements(int depth, String field, Place place) throws UnreadableException {
    ArrayNode array = NODES.arrayNode();
    scan.expect('[');
    for (boolean first = true; scan.more(first, ']'); first = false) {
      array.add(tree(depth + 1, field, place));
    }
    return array;
  }

  private ObjectNode fields(int depth, Place place) throws UnreadableException {
    ObjectNode fields = NODES.objectNode();
    scan.expect('{');
    for (boolean first = true; scan.more(first, '}'); first = false) {
      String field = field();
      if (purpose.skips(place, field)) {
        scan.skip();
        continue;
      }
      countText(field);
      fields.set(field, field(depth + 1, field, place));
    }
    return fields;
  }

  private JsonNode field(int depth, String field, Place place) throws UnreadableException {
    byte first = scan.peek();
    if (first == '"') {
      countNode();
      return value(field, place);
    }
    return purpose.shortens(place, field) && first == '['
        ? shortenedUnlessMarked(depth, field, place.of(field))
        : tree(depth, field, place.of(field));
  }

  private void countNode() throws TooLargeException {
    if (++nodes > NODES_MAX) {
      throw new TooLargeException(
          "more than %d fields and list entries".formatted(NODES_MAX), String.valueOf(NODES_MAX));
    }
  }

  /**
   * Returns the whole list if it may name what its purpose looks for. Otherwise, the result only
   * shows whether the list is empty.
   */
  private JsonNode shortenedUnlessMarked(int depth, String field, Place place)
      throws UnreadableException {
    int from = scan.position();
    scan.skip();
    int to = scan.position();
    String list = scan.text(from, to);
    scan.seek(from);
    if (purpose.markers().stream().anyMatch(list::contains)) {
      return tree(depth, field, place);
    }
    scan.expect('[');
    ArrayNode shortened = NODES.arrayNode();
    if (scan.more(true, ']')) {
      shortened.addNull();
    }
    scan.seek(to);
    return shortened;
  }
}
