package dev.tranche.webhook.compat;

import static dev.tranche.webhook.pod.PodView.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Translates another system's annotations and resources on a pod into ours, and writes them there.
 * The originals stay, except resources that no node of ours has. A second translation therefore
 * finds both, and they agree.
 */
public final class Translation {
  /** A pod may have thousands of annotations; its owner reads a few sentences. */
  private static final int IGNORED_MAX = 8;

  private final JsonNode pod;

  /** Of the original pod. */
  final Map<String, String> annotations;

  final Messages messages;

  /** Whose annotations are being read. */
  private SharingSystem system = SharingSystem.KAI;

  private int ignored;

  private Translation(PodView view, Messages messages) {
    this.messages = messages;
    pod = view.pod();
    annotations = view.annotations();
  }

  /**
   * @param view of a pod that is changed
   * @return the translated pod
   */
  public static PodView of(
      PodView view, Set<SharingSystem> systems, String resource, Messages messages) {
    var translation = new Translation(view, messages);
    if (systems.contains(SharingSystem.KAI)) {
      new KaiAnnotations(translation).read();
    }
    if (systems.contains(SharingSystem.HAMI)) {
      translation.system = SharingSystem.HAMI;
      new HamiAnnotations(translation, resource).read(view);
    }
    return systems.isEmpty() ? view : new PodView(view.pod());
  }

  /** Returns an annotation of the original pod. */
  Optional<String> annotation(String key) {
    return Optional.ofNullable(annotations.get(key));
  }

  /** Whether the pod requests a share, by an annotation of ours or one that was translated. */
  boolean requestsShare() {
    return GpuRequests.firstKey(new PodView(pod).annotations()).isPresent();
  }

  /** Returns a label of the original pod; empty if it has none. */
  String label(String key) {
    return text(pod.path("metadata").path("labels"), key);
  }

  /**
   * Adds our annotation that means the same as theirs. If the pod already has ours, the two must
   * agree.
   */
  void translate(String theirs, String theirValue, String ours, String value) {
    put(theirs, theirValue, "metadata", "annotations", ours, value);
  }

  /** Like {@link #translate}, but for the nodeSelector: the pod needs a node that serves MPS. */
  void requireMps(String theirs, String theirValue) {
    put(theirs, theirValue, "spec", "nodeSelector", Names.LABEL_SHARING_STRATEGY, "mps");
  }

  /**
   * Translates how pods are to share a GPU.
   *
   * @param ignored whether the pod gets what the value says, or no share
   */
  void translateMode(String theirs, String value, boolean ignored, boolean mps, String allowed) {
    if (ignored) {
      ignore(theirs, value);
    } else if (mps) {
      requireMps(theirs, value);
    } else {
      messages.deny(Denial.COMPAT_VALUE_UNKNOWN, theirs, Printable.value(value), system, allowed);
    }
  }

  /**
   * @param section of the pod
   * @param map in that section, to which our key and value are added
   */
  private void put(
      String theirs, String theirValue, String section, String map, String key, String value) {
    JsonNode known = pod.path(section).path(map).path(key);
    String ours = map.equals("annotations") ? key : map + " " + key;
    if (known.isMissingNode()) {
      messages.warn(Warning.COMPAT_TRANSLATED, theirs, kind(theirs), ours, Printable.value(value));
      PodView.object(PodView.object(pod, section), map).put(key, value);
    } else if (!known.asText("").strip().equals(value)) {
      denyConflict(theirs, theirValue, ours, known.asText(""));
    }
  }

  void denyConflict(String theirs, String theirValue, String other, String otherValue) {
    messages.deny(
        Denial.CONFLICTING_ANNOTATIONS,
        theirs,
        kind(theirs),
        Printable.value(theirValue),
        other,
        Printable.value(otherValue));
  }

  /** Like {@link #translate}, but ours takes precedence if the pod has both. */
  void translateUnlessPresent(String theirs, String theirValue, String ours, String value) {
    if (!annotations.containsKey(ours)) {
      translate(theirs, theirValue, ours, value);
    }
  }

  void ignore(String theirs, String value) {
    if (++ignored <= IGNORED_MAX) {
      messages.warn(Warning.COMPAT_IGNORED, theirs, Printable.value(value), kind(theirs));
    }
  }

  private String kind(String theirs) {
    return system + (annotations.containsKey(theirs) ? " annotation" : " resource");
  }

  /** Removes resources from a container, so that a node can accept the pod. */
  static void drop(PodView.Container container, List<String> resources) {
    container
        .sections()
        .filter(JsonNode::isObject)
        .forEach(section -> ((ObjectNode) section).remove(resources));
  }
}
