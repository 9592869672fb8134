package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A pod that asks to be let in, or to get ephemeral containers.
 *
 * @param namespace of the request; the pod itself may not say it
 * @param view of the pod that is asked for
 * @param before the pod as it is; missing at its creation
 */
public record GuardedPod(String namespace, PodView view, JsonNode before) {
  public static GuardedPod created(String namespace, JsonNode pod) {
    return new GuardedPod(namespace, new PodView(pod), MissingNode.getInstance());
  }

  JsonNode spec() {
    return view.spec();
  }

  boolean creation() {
    return before.isMissingNode() || before.isNull();
  }

  /** {@code namespace:name}. */
  String serviceAccount() {
    String name = view.text("serviceAccountName");
    return namespace + ":" + (name.isEmpty() ? "default" : name);
  }

  /** Those that may still be changed: all of a new pod, and ephemeral ones that are new. */
  List<Container> containers() {
    var containers = new ArrayList<>(creation() ? view.containers() : List.of());
    Set<String> known =
        new PodView(before)
            .ephemeralContainers().stream().map(Container::name).collect(Collectors.toSet());
    view.ephemeralContainers().stream()
        .filter(container -> !known.contains(container.name()))
        .forEach(containers::add);
    return containers;
  }
}
