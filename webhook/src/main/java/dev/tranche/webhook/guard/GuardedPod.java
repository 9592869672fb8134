package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A pod that asks to be let in, or to get ephemeral containers.
 *
 * @param namespace of the request; the pod itself may not say it
 * @param pod as JSON; not changed
 * @param before the pod as it is; missing at its creation
 */
public record GuardedPod(String namespace, JsonNode pod, JsonNode before) {
  public static GuardedPod created(String namespace, JsonNode pod) {
    return new GuardedPod(namespace, pod, MissingNode.getInstance());
  }

  /**
   * @param list the spec's field that it lies in
   * @param index in that list
   */
  record Container(String list, int index, JsonNode spec) {
    String name() {
      return spec.path("name").asText("");
    }

    /** From the root of the pod to a field of it. */
    String[] path(String... fields) {
      String[] path = new String[3 + fields.length];
      path[0] = "spec";
      path[1] = list;
      path[2] = String.valueOf(index);
      System.arraycopy(fields, 0, path, 3, fields.length);
      return path;
    }
  }

  JsonNode spec() {
    return pod.path("spec");
  }

  boolean creation() {
    return before.isMissingNode() || before.isNull();
  }

  /** {@code namespace:name}. */
  String serviceAccount() {
    String name = spec().path("serviceAccountName").asText("");
    return namespace + ":" + (name.isEmpty() ? "default" : name);
  }

  /** Those that may still be changed: all of a new pod, and ephemeral ones that are new. */
  List<Container> containers() {
    var containers = new ArrayList<Container>();
    if (creation()) {
      collect("initContainers", Set.of(), containers);
      collect("containers", Set.of(), containers);
    }
    collect("ephemeralContainers", ephemeralBefore(), containers);
    return containers;
  }

  private Set<String> ephemeralBefore() {
    var names = new HashSet<String>();
    before
        .path("spec")
        .path("ephemeralContainers")
        .forEach(c -> names.add(c.path("name").asText("")));
    return names;
  }

  private void collect(String list, Set<String> except, List<Container> into) {
    int index = 0;
    for (JsonNode spec : spec().path(list)) {
      var container = new Container(list, index++, spec);
      if (!except.contains(container.name())) {
        into.add(container);
      }
    }
  }
}
