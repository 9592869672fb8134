package dev.tranche.webhook;

import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.nodes.ProductList;
import java.util.List;
import java.util.OptionalLong;

/** The nodes that a pod can land on, and what it must require of nodes to stay on them. */
final class Landing {
  /** More models than a cluster has. */
  private static final int PRODUCTS_MAX = 32;

  private Landing() {}

  /**
   * Labelled nodes that the pod's nodeSelector, required affinity and list of models admit, and
   * whose GPUs have the memory that it asks for.
   */
  static List<GpuNode> nodes(
      PodView pod, Asks asks, List<GpuNode> nodes, MutationRules.Memory memory) {
    var selection = new NodeSelection(pod.spec());
    var products = new ProductList(pod.annotations().get(Names.GPU_MODEL));
    List<GpuNode> admitted =
        nodes.stream()
            .filter(n -> n.replicasPerGpu().isPresent())
            .filter(products::admits)
            .filter(selection::admits)
            .toList();
    OptionalLong wantedBytes = asks.memoryBytesMax();
    if (wantedBytes.isEmpty()) {
      return admitted;
    }
    List<GpuNode> large =
        admitted.stream()
            .filter(n -> n.usableBytes(memory.reserveBytes()).orElse(0) >= wantedBytes.getAsLong())
            .toList();
    // Where none is large enough, all of them are looked at for the sentence that refuses the pod.
    return large.isEmpty() ? admitted : large;
  }

  /**
   * Keeps the pod off nodes of other models, so that an autoscaler sees it. Said as what it may not
   * be: a node without the label may well have the right one.
   */
  static void requireModel(PodView pod, List<GpuNode> nodes, Affinity affinity) {
    String list = pod.annotations().get(Names.GPU_MODEL);
    if (list == null) {
      return;
    }
    var products = new ProductList(list);
    List<String> others =
        nodes.stream()
            .filter(n -> !products.admits(n))
            .flatMap(n -> n.product().stream())
            .distinct()
            .sorted()
            .limit(PRODUCTS_MAX)
            .toList();
    if (!others.isEmpty()) {
      affinity.require(Names.LABEL_PRODUCT, "NotIn", others);
    }
  }
}
