package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.toSet;

import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.nodes.ProductList;
import dev.tranche.webhook.nodes.Taints;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.request.GpuRequests;
import java.util.HashMap;
import java.util.List;
import java.util.Set;

/**
 * The nodes that a pod can land on.
 *
 * @param admitted labelled nodes that its nodeSelector, required affinity and list of models admit
 * @param able those whose GPUs are as many and as large as it asks for; where there are none, all
 *     that admit it, for the sentence that refuses the pod
 * @param open of these, those that offer the resource and take the pod now: it tolerates their
 *     taints, and they are not cordoned. Where there are none, those that offer it; else all.
 */
record CandidateNodes(List<GpuNode> admitted, List<GpuNode> able, List<GpuNode> open) {
  /** More models than a cluster has. */
  private static final int PRODUCTS_MAX = 32;

  static CandidateNodes of(
      PodView pod, GpuRequests requests, List<GpuNode> nodes, MutationRules rules) {
    var selection = new NodeSelection(pod.spec());
    var products = new ProductList(pod.annotations().get(Names.GPU_MODEL));
    String nodeName = pod.text("nodeName");
    List<GpuNode> admitted =
        nodes.stream()
            .filter(n -> n.replicasPerGpu().isPresent())
            .filter(n -> nodeName.isEmpty() || n.name().equals(nodeName))
            .filter(products::admits)
            .filter(selection::admits)
            .toList();
    long wantedBytes = requests.memoryBytesMax().orElse(0);
    int wantedGpus = requests.gpusMax();
    List<GpuNode> able =
        admitted.stream()
            .filter(n -> n.gpus().orElse(Integer.MAX_VALUE) >= wantedGpus)
            .filter(
                n ->
                    wantedBytes == 0
                        || n.usableBytes(rules.memory().reserveBytes()).orElse(0) >= wantedBytes)
            .toList();
    List<GpuNode> fit = able.isEmpty() ? admitted : able;
    return new CandidateNodes(admitted, fit, open(pod, fit, rules.resources().getFirst()));
  }

  /** Each step is left out where it would leave nothing: an autoscaler may bring such a node. */
  private static List<GpuNode> open(PodView pod, List<GpuNode> able, String resource) {
    List<GpuNode> offering = able.stream().filter(n -> n.offers(resource)).toList();
    List<GpuNode> counted = offering.isEmpty() ? able : offering;
    // Thousands of nodes have a few sets of taints.
    var tolerated = new HashMap<Taints, Boolean>();
    List<GpuNode> taking =
        counted.stream()
            .filter(n -> tolerated.computeIfAbsent(n.taints(), t -> t.toleratedBy(pod.spec())))
            .toList();
    return taking.isEmpty() ? counted : taking;
  }

  /**
   * Keeps the pod off nodes of other models, so that an autoscaler sees it. Said as what it may not
   * be: a node without the label may well have the right one. So may a node of several models,
   * whose label names one of them: that name is not required away.
   */
  static void requireModel(PodView pod, List<GpuNode> nodes, Affinity affinity) {
    String list = pod.annotations().get(Names.GPU_MODEL);
    if (list == null) {
      return;
    }
    var products = new ProductList(list);
    Set<String> ofMixed =
        nodes.stream()
            .filter(GpuNode::mixed)
            .flatMap(n -> n.labelledProduct().stream())
            .collect(toSet());
    List<String> others =
        nodes.stream()
            .filter(n -> !products.admits(n))
            .flatMap(n -> n.product().stream())
            .filter(product -> !ofMixed.contains(product))
            .distinct()
            .sorted()
            .limit(PRODUCTS_MAX)
            .toList();
    if (!others.isEmpty()) {
      affinity.require(Names.LABEL_PRODUCT, "NotIn", others);
    }
  }
}
