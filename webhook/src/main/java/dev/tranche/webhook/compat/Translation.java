package dev.tranche.webhook.compat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Translates a pod from another system's annotations and resources into ours. The originals stay on
 * the pod, except resources that no node of ours has. A second translation therefore finds both,
 * and they agree.
 */
public final class Translation {
  /** A pod may have thousands of annotations; its owner reads a few sentences. */
  private static final int IGNORED_MAX = 8;

  private final PodView originalView;
  private final JsonNode original;
  private final Map<String, String> annotations;
  private final Map<String, String> added = new LinkedHashMap<>();
  private final Map<String, String> nodeLabels = new LinkedHashMap<>();
  private final List<String[]> dropped = new ArrayList<>();
  private final Messages messages;
  private @Nullable JsonNode copy;

  /** Whose annotations are being read. */
  private SharingSystem system = SharingSystem.KAI;

  private int ignored;

  private Translation(PodView view, Messages messages) {
    this.messages = messages;
    originalView = view;
    original = view.pod();
    annotations = view.annotations();
  }

  public static Translation of(
      PodView view, Set<SharingSystem> systems, String resource, Messages messages) {
    var translation = new Translation(view, messages);
    if (systems.contains(SharingSystem.KAI)) {
      KaiAnnotations.read(translation);
    }
    if (systems.contains(SharingSystem.HAMI)) {
      translation.system = SharingSystem.HAMI;
      new HamiAnnotations(translation, resource).read(view);
    }
    return translation.finish();
  }

  /** Returns the translated pod: the original, or a copy if anything changed. */
  public PodView view() {
    return copy == null ? originalView : new PodView(copy);
  }

  private JsonNode copy() {
    JsonNode modified = copy == null ? original.deepCopy() : copy;
    copy = modified;
    return modified;
  }

  Messages messages() {
    return messages;
  }

  /**
   * Writes the translation to the patch, except the resources of shares, which are written with the
   * grants.
   */
  public void write(JsonPatch patch) {
    if (!added.isEmpty() && !original.path("metadata").path("annotations").isObject()) {
      patch.add(JsonNodeFactory.instance.objectNode(), "metadata", "annotations");
    }
    added.forEach((key, value) -> patch.add(value, "metadata", "annotations", key));
    if (!nodeLabels.isEmpty() && !original.path("spec").path("nodeSelector").isObject()) {
      patch.add(JsonNodeFactory.instance.objectNode(), "spec", "nodeSelector");
    }
    nodeLabels.forEach((label, value) -> patch.add(value, "spec", "nodeSelector", label));
    dropped.forEach(patch::remove);
  }

  /** Returns an annotation of the original pod. */
  @Nullable String annotation(String key) {
    return annotations.get(key);
  }

  /** Returns the annotations of the original pod. */
  Map<String, String> annotations() {
    return annotations;
  }

  /** Whether the pod requests a share, by an annotation of ours or one that was translated. */
  boolean requestsShare() {
    return GpuRequests.firstKey(annotations).isPresent() || GpuRequests.firstKey(added).isPresent();
  }

  /** Returns a label of the original pod; empty if it has none. */
  String label(String key) {
    return original.path("metadata").path("labels").path(key).asText("");
  }

  /**
   * Adds our annotation that means the same as theirs. If the pod already has ours, the two must
   * agree.
   */
  void translate(String theirs, String theirValue, String ours, String value) {
    String known = annotations.getOrDefault(ours, added.get(ours));
    put(theirs, theirValue, ours, value, known, () -> added.put(ours, value));
  }

  /** Like {@link #translate}, but for the nodeSelector: the pod needs a node that serves MPS. */
  void requireMps(String theirs, String theirValue) {
    String label = Names.LABEL_SHARING_STRATEGY;
    JsonNode selector = original.path("spec").path("nodeSelector");
    String known = selector.has(label) ? selector.path(label).asText("") : nodeLabels.get(label);
    put(
        theirs,
        theirValue,
        "nodeSelector " + label,
        "mps",
        known,
        () -> nodeLabels.put(label, "mps"));
  }

  private void put(
      String theirs,
      String theirValue,
      String ours,
      String value,
      @Nullable String known,
      Runnable write) {
    if (known == null) {
      messages.warn(
          Warning.COMPAT_TRANSLATED.of(theirs, kind(theirs), ours, Printable.value(value)));
      write.run();
    } else if (!known.strip().equals(value)) {
      messages.deny(
          Denial.CONFLICTING_ANNOTATIONS.of(
              theirs, kind(theirs), Printable.value(theirValue), ours, Printable.value(known)));
    }
  }

  /** Like {@link #translate}, but ours takes precedence if the pod has both. */
  void translateUnlessPresent(String theirs, String theirValue, String ours, String value) {
    if (!annotations.containsKey(ours)) {
      translate(theirs, theirValue, ours, value);
    }
  }

  void ignore(String theirs, String value) {
    if (++ignored <= IGNORED_MAX) {
      messages.warn(Warning.COMPAT_IGNORED.of(theirs, Printable.value(value), kind(theirs)));
    }
  }

  private String kind(String theirs) {
    return system + (annotations.containsKey(theirs) ? " annotation" : " resource");
  }

  /** Removes a resource from a container, so that a node can accept the pod. */
  void drop(PodView.Container container, String resource) {
    for (String section : List.of("limits", "requests")) {
      if (section(container, section).remove(resource) != null) {
        dropped.add(container.path("resources", section, resource));
      }
    }
  }

  /** Returns a section of a container's resources in the copy, to be modified. */
  ObjectNode section(PodView.Container container, String section) {
    JsonNode resources =
        copy().path("spec").path(container.list()).path(container.index()).path("resources");
    return resources.path(section) instanceof ObjectNode object
        ? object
        : JsonNodeFactory.instance.objectNode();
  }

  private Translation finish() {
    if (!added.isEmpty() && copy().path("metadata") instanceof ObjectNode metadata) {
      added.forEach(map(metadata, "annotations")::put);
    }
    if (!nodeLabels.isEmpty() && copy().path("spec") instanceof ObjectNode spec) {
      nodeLabels.forEach(map(spec, "nodeSelector")::put);
    }
    return this;
  }

  /** Returns the object of that name, and creates it if needed. */
  private static ObjectNode map(ObjectNode parent, String name) {
    return parent.path(name) instanceof ObjectNode object ? object : parent.putObject(name);
  }
}
