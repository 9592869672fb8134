package dev.tranche.webhook.mutate;

import static dev.tranche.webhook.pod.PodView.text;
import static java.util.stream.Collectors.toCollection;
import static java.util.stream.Collectors.toSet;

import dev.tranche.api.AllowList;
import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.nodes.Taints;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import java.util.HashMap;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * The nodes that a pod can land on.
 *
 * @param admitted labelled nodes that the pod's nodeName, nodeSelector, required node affinity and
 *     list of models admit
 * @param sufficient the admitted nodes with enough GPUs that are large enough; if there are none,
 *     all admitted nodes, which the denial then describes
 * @param schedulable the sufficient nodes that offer the resource and accept the pod now: it
 *     tolerates their taints, and they are not cordoned. If there are none, those that offer it;
 *     otherwise all.
 * @param offMps whether the pod is kept off nodes that share GPUs by MPS
 */
record CandidateNodes(
    List<GpuNode> admitted, List<GpuNode> sufficient, List<GpuNode> schedulable, boolean offMps) {
  /** More models than a cluster has. */
  private static final int PRODUCTS_MAX = 32;

  private static final Pattern SHM = Pattern.compile("/+dev/+shm/*");

  static CandidateNodes of(
      PodView pod, GpuRequests requests, List<GpuNode> nodes, MutationRules rules) {
    var selection = new NodeSelection(pod.spec());
    Set<String> excluded = excludedProducts(pod, nodes);
    String nodeName = pod.text("nodeName");
    boolean hostPid = pod.sharesHostPids();
    List<GpuNode> admitted =
        nodes.stream()
            .filter(n -> n.replicasPerGpu().isPresent())
            .filter(n -> nodeName.isEmpty() || n.name().equals(nodeName))
            .filter(n -> n.product().filter(excluded::contains).isEmpty())
            .filter(selection::admits)
            .filter(n -> !hostPid || !n.sharesByMps())
            .toList();
    long wantedBytes = requests.memoryBytesMax();
    int wantedGpus = requests.gpusMax();
    List<GpuNode> sufficient =
        admitted.stream()
            .filter(n -> n.gpus().orElse(Integer.MAX_VALUE) >= wantedGpus)
            .filter(
                n ->
                    wantedBytes == 0
                        || n.usableBytes(rules.memory().reserveBytes()).orElse(0) >= wantedBytes)
            .toList();
    List<GpuNode> fit = sufficient.isEmpty() ? admitted : sufficient;
    return new CandidateNodes(
        admitted,
        fit,
        schedulable(pod, fit, rules.resource()),
        hostPid && nodes.stream().anyMatch(GpuNode::sharesByMps));
  }

  /**
   * Warns of a container with GPUs whose own volume at /dev/shm is mounted over that of MPS. The
   * kubelet mounts a pod's volumes after what the device plugin mounts.
   */
  void warnOfShm(PodView pod, GpuRequests requests, String resource, Messages messages) {
    if (admitted.stream().noneMatch(GpuNode::sharesByMps)) {
      return;
    }
    pod.containers().stream()
        .filter(c -> c.requested(resource) > 0 || requests.containersWithShares().contains(c))
        .filter(
            c ->
                c.spec()
                    .path("volumeMounts")
                    .valueStream()
                    .anyMatch(mount -> SHM.matcher(text(mount, "mountPath")).matches()))
        .findFirst()
        .ifPresent(c -> messages.warn(Warning.SHM_HIDES_MPS, c.name()));
  }

  /**
   * Keeps a pod with hostPID off nodes that share GPUs by MPS, also off those that only do so after
   * its admission.
   */
  static void requireNoMps(PodView pod, RequiredNodeAffinity affinity) {
    if (pod.sharesHostPids()) {
      affinity.require(Names.LABEL_SHARING_STRATEGY, "NotIn", List.of("mps"));
    }
  }

  /** Skips a step that would leave no node, since an autoscaler may add a node that passes it. */
  private static List<GpuNode> schedulable(PodView pod, List<GpuNode> sufficient, String resource) {
    List<GpuNode> offering = sufficient.stream().filter(n -> n.offers(resource)).toList();
    List<GpuNode> candidates = offering.isEmpty() ? sufficient : offering;
    // Thousands of nodes have a few sets of taints.
    var tolerated = new HashMap<Taints, Boolean>();
    List<GpuNode> accepting =
        candidates.stream()
            .filter(n -> tolerated.computeIfAbsent(n.taints(), t -> t.toleratedBy(pod.spec())))
            .toList();
    return accepting.isEmpty() ? candidates : accepting;
  }

  /**
   * Keeps the pod off nodes with other models, by node affinity, so that an autoscaler sees it. The
   * requirement excludes models, since a node without the label may have the right one. So may a
   * node with several models, whose label names only one of them; that name is not excluded.
   */
  static void requireModel(PodView pod, List<GpuNode> nodes, RequiredNodeAffinity affinity) {
    Set<String> ofMixed =
        nodes.stream()
            .filter(GpuNode::mixed)
            .flatMap(n -> n.labelledProduct().stream())
            .collect(toSet());
    List<String> others =
        excludedProducts(pod, nodes).stream()
            .filter(product -> !ofMixed.contains(product))
            .limit(PRODUCTS_MAX)
            .toList();
    if (!others.isEmpty()) {
      affinity.require(Names.LABEL_PRODUCT, "NotIn", others);
    }
  }

  /** Returns the products that the pod's list of models does not admit, in order. */
  private static Set<String> excludedProducts(PodView pod, List<GpuNode> nodes) {
    String list = pod.annotations().get(Names.GPU_MODEL);
    if (list == null) {
      return Set.of();
    }
    AllowList models = AllowList.parse(list);
    return nodes.stream()
        .flatMap(n -> n.product().stream())
        .distinct()
        .filter(product -> !models.admitsModel(product))
        .collect(toCollection(TreeSet::new));
  }
}
