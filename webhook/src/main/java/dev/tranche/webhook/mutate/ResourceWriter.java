package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Quantity;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.PodView.Container;

/** Writes a container's replicas into its requests and limits, which must be equal. */
final class ResourceWriter {
  private ResourceWriter() {}

  static void write(Grant grant, String resource, JsonPatch patch) {
    Container container = grant.request().container();
    JsonNode present = container.spec().path("resources");
    ObjectNode resources = object(present);
    String replicas = String.valueOf(grant.replicas());
    for (String section : new String[] {"limits", "requests"}) {
      ObjectNode quantities = object(resources.path(section));
      // Kubernetes' own spelling of the number, 10k for instance, is left alone.
      if (Quantity.parse(quantities.path(resource).asText("")).orElse(0) != grant.replicas()) {
        quantities.put(resource, replicas);
      }
      resources.set(section, quantities);
    }
    if (!resources.equals(present)) {
      patch.add(resources, container.path("resources"));
    }
  }

  private static ObjectNode object(JsonNode node) {
    return node instanceof ObjectNode object
        ? object.deepCopy()
        : JsonNodeFactory.instance.objectNode();
  }
}
