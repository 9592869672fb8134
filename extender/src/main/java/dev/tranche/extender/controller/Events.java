package dev.tranche.extender.controller;

import dev.tranche.api.Printable;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.EventBuilder;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.fabric8.kubernetes.api.model.ObjectReferenceBuilder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.UUID;

/** Events about nodes, pods and ConfigMaps. */
final class Events {
  /** Leaves room for a dot and a uuid. */
  private static final int NAME_CHARS_MAX = 200;

  private Events() {}

  /**
   * References a node as the kubelet's events do: no namespace, so that events go to the default
   * one, and the node's name as the uid.
   */
  static ObjectReference node(String name) {
    return new ObjectReferenceBuilder()
        .withApiVersion("v1")
        .withKind("Node")
        .withName(name)
        .withUid(name)
        .build();
  }

  static ObjectReference pod(String namespace, String name, String uid) {
    return namespaced("Pod", namespace, name, uid);
  }

  static ObjectReference configMap(String namespace, String name, String uid) {
    return namespaced("ConfigMap", namespace, name, uid);
  }

  private static ObjectReference namespaced(
      String kind, String namespace, String name, String uid) {
    return new ObjectReferenceBuilder()
        .withApiVersion("v1")
        .withKind(kind)
        .withNamespace(namespace)
        .withName(name)
        .withUid(uid)
        .build();
  }

  /** Returns the same uuid for the same text, so that an event named by it is written only once. */
  static UUID uuid(String text) {
    return UUID.nameUUIDFromBytes(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Starts an event, without type, reason, message and source. */
  static EventBuilder eventBuilder(ObjectReference object, UUID id, Instant when) {
    String namespace = object.getNamespace();
    String name = object.getName();
    String at = when.truncatedTo(ChronoUnit.SECONDS).toString();
    return new EventBuilder()
        .withNewMetadata()
        .withNamespace(namespace == null ? "default" : namespace)
        .withName(name.substring(0, Math.min(name.length(), NAME_CHARS_MAX)) + "." + id)
        .endMetadata()
        .withInvolvedObject(object)
        .withFirstTimestamp(at)
        .withLastTimestamp(at)
        .withCount(1);
  }

  static Event warning(ObjectReference object, UUID id, String reason, String message) {
    return eventBuilder(object, id, Instant.now())
        .withType("Warning")
        .withReason(reason)
        .withMessage(Printable.message(message))
        .withNewSource()
        .withComponent("tranche-extender")
        .endSource()
        .build();
  }
}
