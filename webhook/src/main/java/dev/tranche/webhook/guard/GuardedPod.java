package dev.tranche.webhook.guard;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A pod under review: a new one, or one that gets ephemeral containers.
 *
 * @param namespace the namespace of the request, since the pod itself may not state it
 * @param view the pod as requested
 * @param before the pod before the update; missing or null at its creation
 */
public record GuardedPod(String namespace, PodView view, JsonNode before) {
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

  /** Returns the containers that may still be changed: all of a new pod, and new ephemeral ones. */
  List<Container> containers() {
    Set<String> known =
        new PodView(before)
            .ephemeralContainers().stream().map(Container::name).collect(Collectors.toSet());
    return Stream.concat(
            creation() ? view.containers().stream() : Stream.of(),
            view.ephemeralContainers().stream().filter(c -> !known.contains(c.name())))
        .toList();
  }
}
