package dev.tranche.e2e.walkthrough;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fabric8.kubernetes.api.model.APIGroup;
import io.fabric8.kubernetes.api.model.APIResource;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Every object that an API server has in etcd, found by its discovery: what identifies it, and all
 * of it that somebody wrote on purpose. Events are left out.
 *
 * @param objects by resource, namespace and name, with the content as JSON
 */
record ClusterObjects(Map<String, String> objects) {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS);

  /** What each write changes. */
  private static final List<String> BOOKKEEPING =
      List.of("resourceVersion", "managedFields", "generation");

  static ClusterObjects read(KubernetesClient client) {
    var objects = new TreeMap<String, String>();
    var seen = new TreeSet<String>();
    for (String version : versions(client)) {
      String path = version.contains("/") ? "/apis/" + version : "/api/" + version;
      for (APIResource resource : listable(client, version)) {
        if (seen.add(group(version) + "/" + resource.getName())) {
          read(client.raw(path + "/" + resource.getName()), resource.getName(), objects);
        }
      }
    }
    return new ClusterObjects(objects);
  }

  /** Keys of the objects that only the other one has. */
  Set<String> missing(ClusterObjects other) {
    var missing = new TreeSet<>(other.objects.keySet());
    missing.removeAll(objects.keySet());
    return missing;
  }

  /** What differs of the objects that both have: key, ours and the other's. */
  List<String> changed(ClusterObjects other) {
    return objects.keySet().stream()
        .filter(other.objects::containsKey)
        .filter(key -> !objects.get(key).equals(other.objects.get(key)))
        .map(key -> key + "\n  " + objects.get(key) + "\n  " + other.objects.get(key))
        .toList();
  }

  private static List<String> versions(KubernetesClient client) {
    var versions = new ArrayList<>(List.of("v1"));
    for (APIGroup group : client.getApiGroups().getGroups()) {
      Stream.concat(Stream.of(group.getPreferredVersion()), group.getVersions().stream())
          .map(version -> version.getGroupVersion())
          .distinct()
          .forEach(versions::add);
    }
    return versions;
  }

  private static String group(String version) {
    int slash = version.indexOf('/');
    return slash < 0 ? "" : version.substring(0, slash);
  }

  private static List<APIResource> listable(KubernetesClient client, String version) {
    return client.getApiResources(version).getResources().stream()
        .filter(resource -> !resource.getName().contains("/"))
        .filter(resource -> resource.getVerbs().contains("list"))
        .filter(resource -> !resource.getName().equals("events"))
        // The API server makes these up when it is asked.
        .filter(resource -> !resource.getName().equals("componentstatuses"))
        .toList();
  }

  private static void read(String list, String resource, Map<String, String> into) {
    for (JsonNode item : tree(list).path("items")) {
      JsonNode metadata = item.path("metadata");
      String name = metadata.path("namespace").asText() + "/" + metadata.path("name").asText();
      item.path("status")
          .path("capacity")
          .fieldNames()
          .forEachRemaining(kind -> into.put(resource + " " + name + " capacity " + kind, ""));
      into.put(resource + " " + name, content((ObjectNode) item, resource));
    }
  }

  private static String content(ObjectNode item, String resource) {
    item.remove("status");
    ((ObjectNode) item.path("metadata")).remove(BOOKKEEPING);
    if (resource.equals("leases")) {
      // Renewed every few seconds.
      item.remove("spec");
    }
    try {
      return JSON.writeValueAsString(JSON.treeToValue(item, Object.class));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  private static JsonNode tree(String text) {
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(text, e);
    }
  }
}
