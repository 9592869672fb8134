package dev.tranche.webhook.compat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Printable;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.Warning;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A pod in our words, where it came in another system's. What they wrote stays on the pod, but for
 * the resources that no node of ours has; so a second look finds both, in agreement.
 */
public final class Translation {
  /** A pod may have thousands of annotations; its owner reads a few sentences. */
  private static final int IGNORED_MAX = 8;

  private final PodView came;
  private final JsonNode original;
  private final Map<String, String> annotations;
  private final Map<String, String> added = new LinkedHashMap<>();
  private final Map<String, String> selected = new LinkedHashMap<>();
  private final List<String[]> dropped = new ArrayList<>();
  private final List<String> warnings = new ArrayList<>();
  private final List<Problem> problems = new ArrayList<>();
  private @Nullable JsonNode copy;
  private int ignored;

  private Translation(PodView view) {
    came = view;
    original = view.pod();
    annotations = view.annotations();
  }

  public static Translation of(
      PodView view, Set<SharingSystem> systems, String resource, List<GpuNode> nodes) {
    var translation = new Translation(view);
    if (systems.contains(SharingSystem.KAI)) {
      KaiAnnotations.read(translation);
    }
    if (systems.contains(SharingSystem.HAMI)) {
      new HamiAnnotations(translation, nodes, resource).read(view);
    }
    return translation.finish();
  }

  /** The pod to go on with: the one that came, or a copy. */
  public PodView view() {
    return copy == null ? came : new PodView(copy);
  }

  private JsonNode copy() {
    JsonNode made = copy == null ? original.deepCopy() : copy;
    copy = made;
    return made;
  }

  public List<String> warnings() {
    return warnings;
  }

  /** Whether another problem would be told. */
  boolean readsOn() {
    return problems.size() <= Denial.PER_POD_MAX;
  }

  public List<Problem> problems() {
    return problems;
  }

  /** Makes of the pod that came, but for its shares, the one to go on with. */
  public void write(JsonPatch patch) {
    if (!added.isEmpty() && !original.path("metadata").path("annotations").isObject()) {
      patch.add(JsonNodeFactory.instance.objectNode(), "metadata", "annotations");
    }
    added.forEach((key, value) -> patch.add(value, "metadata", "annotations", key));
    if (!selected.isEmpty() && !original.path("spec").path("nodeSelector").isObject()) {
      patch.add(JsonNodeFactory.instance.objectNode(), "spec", "nodeSelector");
    }
    selected.forEach((label, value) -> patch.add(value, "spec", "nodeSelector", label));
    dropped.forEach(patch::remove);
  }

  /** An annotation of the pod that came. */
  @Nullable String annotation(String key) {
    return annotations.get(key);
  }

  /** Those of the pod that came. */
  Map<String, String> annotations() {
    return annotations;
  }

  /** A label of the pod that came; empty if it has none. */
  String label(String key) {
    return original.path("metadata").path("labels").path(key).asText("");
  }

  /** Says in our words what theirs mean; ours, where they are there, must agree. */
  void say(SharingSystem dialect, String theirs, String theirValue, String ours, String value) {
    String known = annotations.getOrDefault(ours, added.get(ours));
    put(dialect, theirs, theirValue, ours, value, known, () -> added.put(ours, value));
  }

  /** As {@link #say}, of the nodes that the pod may go to. */
  void select(SharingSystem dialect, String theirs, String theirValue, String label, String value) {
    JsonNode there = original.path("spec").path("nodeSelector").path(label);
    String known = there.isMissingNode() ? selected.get(label) : there.asText("");
    String ours = "nodeSelector " + label;
    put(dialect, theirs, theirValue, ours, value, known, () -> selected.put(label, value));
  }

  private void put(
      SharingSystem dialect,
      String theirs,
      String theirValue,
      String ours,
      String value,
      @Nullable String known,
      Runnable write) {
    if (known == null) {
      warnings.add(Warning.OTHERS_WORD.of(theirs, dialect, ours, Printable.value(value)));
      write.run();
    } else if (!known.strip().equals(value)) {
      problems.add(
          Denial.OTHERS_WORD_TWICE.of(
              theirs, dialect, Printable.value(theirValue), ours, Printable.value(known)));
    }
  }

  /** As {@link #say}, where ours decide if both are there. */
  void sayUnlessSaid(
      SharingSystem dialect, String theirs, String theirValue, String ours, String value) {
    if (!annotations.containsKey(ours)) {
      say(dialect, theirs, theirValue, ours, value);
    }
  }

  void ignore(SharingSystem dialect, String theirs, String value) {
    if (++ignored <= IGNORED_MAX) {
      warnings.add(Warning.OTHERS_WORD_IGNORED.of(theirs, Printable.value(value), dialect));
    }
  }

  void warn(String warning) {
    warnings.add(warning);
  }

  /** Takes a resource from a container that asks for no share, so that a node can have the pod. */
  void drop(PodView.Container container, String resource) {
    for (String section : List.of("limits", "requests")) {
      if (section(container, section).remove(resource) != null) {
        dropped.add(container.path("resources", section, resource));
      }
    }
  }

  void refuse(Problem problem) {
    problems.add(problem);
  }

  /** A section of a container's resources, in the copy, to be changed. */
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
    if (!selected.isEmpty() && copy().path("spec") instanceof ObjectNode spec) {
      selected.forEach(map(spec, "nodeSelector")::put);
    }
    return this;
  }

  /** What is of that name, made where it is not there. */
  private static ObjectNode map(ObjectNode parent, String name) {
    return parent.path(name) instanceof ObjectNode object ? object : parent.putObject(name);
  }
}
