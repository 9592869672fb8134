package dev.tranche.process.client;

import dev.tranche.api.Printable;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.EventBuilder;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.fabric8.kubernetes.api.model.ObjectReferenceBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Creates Events. */
public final class Events {
  /** Leaves room for a dot and a uuid. */
  private static final int NAME_CHARS_MAX = 200;

  private static final int TOO_MANY = 429;

  private Events() {}

  /**
   * References a node as the kubelet's events do: no namespace, so that events go to the default
   * one, and the node's name as the uid.
   */
  public static ObjectReference node(String name) {
    return object("v1", "Node", null, name, name);
  }

  /**
   * @param uid null if it is not known
   */
  public static ObjectReference pod(String namespace, String name, @Nullable String uid) {
    return object("v1", "Pod", namespace, name, uid);
  }

  public static ObjectReference configMap(String namespace, String name, String uid) {
    return object("v1", "ConfigMap", namespace, name, uid);
  }

  /**
   * References any object.
   *
   * @param uid null if it is not known
   */
  public static ObjectReference object(
      String apiVersion,
      String kind,
      @Nullable String namespace,
      String name,
      @Nullable String uid) {
    return new ObjectReferenceBuilder()
        .withApiVersion(apiVersion)
        .withKind(kind)
        .withNamespace(namespace)
        .withName(name)
        .withUid(uid)
        .build();
  }

  /** Returns the same uuid for the same text, so that an event named by it is written only once. */
  public static UUID uuid(String text) {
    return UUID.nameUUIDFromBytes(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Whether an event was not written because it is already there. */
  public static boolean exists(Throwable failure) {
    return code(failure) == HttpURLConnection.HTTP_CONFLICT;
  }

  /** Whether an event that was not written may be written later. What is refused stays refused. */
  public static boolean isPassing(Throwable failure) {
    int code = code(failure);
    return code < 400 || code >= 500 || code == TOO_MANY;
  }

  private static int code(Throwable failure) {
    return failure instanceof KubernetesClientException e ? e.getCode() : 0;
  }

  /** Starts an event, without type, reason, message and source. */
  public static EventBuilder eventBuilder(ObjectReference object, UUID id, Instant when) {
    String namespace = object.getNamespace();
    String at = when.truncatedTo(ChronoUnit.SECONDS).toString();
    return new EventBuilder()
        .withNewMetadata()
        .withNamespace(namespace == null ? "default" : namespace)
        .withName(start(object.getName()) + "." + id)
        .endMetadata()
        .withInvolvedObject(object)
        .withFirstTimestamp(at)
        .withLastTimestamp(at)
        .withCount(1);
  }

  /** What stands before the dot of a name must end with a letter or a digit. */
  private static String start(String name) {
    int end = Math.min(name.length(), NAME_CHARS_MAX);
    while (end > 1 && !Character.isLetterOrDigit(name.charAt(end - 1))) {
      end--;
    }
    return name.substring(0, end);
  }

  /**
   * Returns a warning that is observed now.
   *
   * @param component which process writes it
   */
  public static Event warning(
      String component, ObjectReference object, UUID id, String reason, String message) {
    return eventBuilder(object, id, Instant.now())
        .withType("Warning")
        .withReason(reason)
        .withMessage(Printable.message(message))
        .withNewSource()
        .withComponent(component)
        .endSource()
        .build();
  }
}
