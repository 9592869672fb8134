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

  /**
   * @param arrived the container to which the patch applies
   */
  static void write(Grant grant, Container arrived, String resource, JsonPatch patch) {
    JsonNode present = arrived.spec().path("resources");
    ObjectNode resources = object(grant.request().container().spec().path("resources"));
    String replicas = String.valueOf(grant.replicas());
    for (String section : new String[] {"limits", "requests"}) {
      ObjectNode quantities = object(resources.path(section));
      // Kubernetes' own spelling of the number, 10k for instance, is left alone.
      JsonNode number = present.path(section).path(resource);
      if (Quantity.parse(number.asText("")).orElse(0) == grant.replicas()) {
        quantities.set(resource, number);
      } else {
        quantities.put(resource, replicas);
      }
      resources.set(section, quantities);
    }
    if (!resources.equals(present)) {
      patch.add(resources, arrived.path("resources"));
    }
  }

  private static ObjectNode object(JsonNode node) {
    return node instanceof ObjectNode object
        ? object.deepCopy()
        : JsonNodeFactory.instance.objectNode();
  }
}
