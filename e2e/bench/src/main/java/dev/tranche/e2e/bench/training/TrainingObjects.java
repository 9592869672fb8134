package dev.tranche.e2e.bench.training;

import dev.tranche.api.Names;
import dev.tranche.e2e.bench.plane.ClusterObjects;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Map;

/** Nodes and pods as the API server sends them. */
final class TrainingObjects {
  private static final int FOREIGN_PER_NODE = 2;
  private static final JsonObject SHARE =
      new JsonObject(Map.of("cpu", "4", "memory", "16Gi", "nvidia.com/gpu", "1"));

  private TrainingObjects() {}

  static JsonObject nodes(int count) {
    var items = new JsonArray();
    for (int i = 0; i < count; i++) {
      items.add(node(i));
    }
    return list("NodeList", items);
  }

  static JsonObject foreignPods(int nodes) {
    var items = new JsonArray();
    for (int i = 0; i < nodes * FOREIGN_PER_NODE; i++) {
      String name = "foreign-" + i;
      items.add(
          pod(name, name, 1, ClusterObjects.nodeName(i % nodes))
              .put("spec", spec(ClusterObjects.nodeName(i % nodes), JsonObject.of("cpu", "1"))));
    }
    return list("PodList", items);
  }

  static JsonObject list(String kind, JsonArray items) {
    return JsonObject.of(
            "kind", kind, "apiVersion", "v1", "metadata", JsonObject.of("resourceVersion", "1"))
        .put("items", items);
  }

  private static JsonObject node(int i) {
    String name = ClusterObjects.nodeName(i);
    var labels = JsonObject.of("kubernetes.io/hostname", name);
    for (int k = 0; k < 20; k++) {
      labels.put("example.com/label-" + k, "value-" + k);
    }
    var images = new JsonArray();
    for (int k = 0; k < 50; k++) {
      String image = "registry.example.com/team-%d/image-%d:v1".formatted(k, k);
      images.add(JsonObject.of("names", JsonArray.of(image)));
    }
    var capacity =
        JsonObject.of("cpu", "96", "memory", "1Ti", "pods", "250", "nvidia.com/gpu", "80");
    return JsonObject.of(
        "metadata",
        meta(name, "node-uid-" + i, 1).put("labels", labels),
        "status",
        JsonObject.of("capacity", capacity, "allocatable", capacity, "images", images));
  }

  private static JsonObject meta(String name, String uid, long version) {
    return JsonObject.of("name", name, "uid", uid, "resourceVersion", Long.toString(version));
  }

  /**
   * Returns a watch event of one of our pods.
   *
   * @param node the pod's node, or empty if it is pending
   */
  static JsonObject podEvent(String type, String name, String uid, long version, String node) {
    JsonObject pod = pod(name, uid, version, node).put("spec", spec(node, SHARE));
    if (!node.isEmpty()) {
      pod.getJsonObject("metadata").put("annotations", JsonObject.of(Names.GPU, "training"));
    }
    return JsonObject.of("type", type, "object", pod);
  }

  /** Returns a pod without its spec. */
  private static JsonObject pod(String name, String uid, long version, String node) {
    return JsonObject.of(
        "metadata",
        meta(name, uid, version).put("namespace", ClusterObjects.NAMESPACE),
        "status",
        JsonObject.of("phase", node.isEmpty() ? "Pending" : "Running"));
  }

  private static JsonObject spec(String node, JsonObject resources) {
    var container =
        JsonObject.of("name", "main", "image", "registry.example.com/training:1")
            .put("resources", JsonObject.of("limits", resources, "requests", resources));
    return JsonObject.of("containers", JsonArray.of(container))
        .put("nodeName", node)
        .put("schedulerName", "default-scheduler");
  }
}
