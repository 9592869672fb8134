package dev.tranche.e2e.bench.training;

import com.google.protobuf.ByteString;
import dev.tranche.api.Names;
import dev.tranche.e2e.bench.plane.ClusterObjects;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/** Nodes and pods as the API server sends them in protobuf. */
final class TrainingObjects {
  private static final int FOREIGN_PER_NODE = 2;
  private static final Map<String, String> SHARE =
      Map.of("cpu", "4", "memory", "16Gi", "nvidia.com/gpu", "1");

  private TrainingObjects() {}

  static ByteString nodes(int count) {
    var list = new ProtobufWriter().message(1, new ProtobufWriter().text(2, "1"));
    for (int i = 0; i < count; i++) {
      list.message(2, node(i));
    }
    return list.enveloped("NodeList");
  }

  static ByteString foreignPods(int nodes) {
    var list = new ProtobufWriter().message(1, new ProtobufWriter().text(2, "1"));
    for (int i = 0; i < nodes * FOREIGN_PER_NODE; i++) {
      String name = "foreign-" + i;
      list.message(
          2, pod(name, name, 1, ClusterObjects.nodeName(i % nodes), Map.of(), Map.of("cpu", "1")));
    }
    return list.enveloped("PodList");
  }

  private static ProtobufWriter node(int i) {
    var labels = new TreeMap<String, String>();
    for (int k = 0; k < 20; k++) {
      labels.put("example.com/label-" + k, "value-" + k);
    }
    labels.put("kubernetes.io/hostname", ClusterObjects.nodeName(i));
    var allocatable = Map.of("cpu", "96", "memory", "1Ti", "pods", "250", "nvidia.com/gpu", "80");
    var status = new ProtobufWriter().quantities(1, allocatable).quantities(2, allocatable);
    for (int k = 0; k < 50; k++) {
      status.message(
          8,
          new ProtobufWriter().text(1, "registry.example.com/team-%d/image-%d:v1".formatted(k, k)));
    }
    var meta = meta(ClusterObjects.nodeName(i), "", "node-uid-" + i, 1).texts(11, labels);
    return new ProtobufWriter().message(1, meta).message(3, status);
  }

  private static ProtobufWriter meta(String name, String namespace, String uid, long version) {
    return new ProtobufWriter()
        .text(1, name)
        .text(3, namespace)
        .text(5, uid)
        .text(6, Long.toString(version));
  }

  /**
   * Returns a watch event of one of our pods.
   *
   * @param node the pod's node, or empty if it is pending
   */
  static ByteString podEvent(String type, String name, String uid, long version, String node) {
    Map<String, String> annotations =
        node.isEmpty() ? Collections.emptyMap() : Map.of(Names.GPU, "training");
    ByteString object = pod(name, uid, version, node, annotations, SHARE).enveloped("Pod");
    return new ProtobufWriter()
        .text(1, type)
        .message(2, new ProtobufWriter().bytes(1, object))
        .done();
  }

  private static ProtobufWriter pod(
      String name,
      String uid,
      long version,
      String node,
      Map<String, String> annotations,
      Map<String, String> limits) {
    var container =
        new ProtobufWriter()
            .text(1, "main")
            .text(2, "registry.example.com/training:1")
            .message(8, new ProtobufWriter().quantities(1, limits).quantities(2, limits));
    var spec = new ProtobufWriter().message(2, container);
    if (!node.isEmpty()) {
      spec.text(10, node);
    }
    spec.text(19, "default-scheduler");
    var meta = meta(name, ClusterObjects.NAMESPACE, uid, version).texts(12, annotations);
    return new ProtobufWriter()
        .message(1, meta)
        .message(2, spec)
        .message(3, new ProtobufWriter().text(1, node.isEmpty() ? "Pending" : "Running"));
  }
}
