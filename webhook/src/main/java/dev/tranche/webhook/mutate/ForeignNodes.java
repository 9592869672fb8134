package dev.tranche.webhook.mutate;

import dev.tranche.api.Names;
import dev.tranche.webhook.mutate.MutationRules.Cluster;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.PlacementAnnotations;
import java.util.List;
import java.util.stream.Stream;

/**
 * Decides whether a pod is left to nodes that others serve, a DRA driver or another device plugin.
 * A number that counts replicas on Tranche's nodes counts whole GPUs there, or what their plugin
 * says.
 */
record ForeignNodes(PodView pod, Cluster cluster, MutationRules rules) {
  /**
   * Returns whether the pod keeps its number: it opts out, or it may use foreign nodes and none of
   * ours. A share is possible on ours alone.
   */
  boolean keep() {
    if (leavesNumbers()) {
      return true;
    }
    if (isShare() || hasNodeName() || countsReplicas()) {
      return false;
    }
    var selection = new NodeSelection(pod.spec());
    return selection.forbids(Names.LABEL_REPLICAS_PER_GPU)
        || selectsDra(selection)
        || (takesForeign(selection) && !takes(selection, cluster.nodes().stream()));
  }

  /** Before the first node of a DRA driver is there, only its label can say so. */
  private static boolean selectsDra(NodeSelection selection) {
    return selection.admitsLabel(Names.SERVED_BY, Names.DRA)
        && !selection.admitsLabel(Names.SERVED_BY, null);
  }

  private boolean optsOut() {
    return rules.plainRequests() == MutationRules.PlainRequests.UNCHANGED
        || Names.UNCHANGED.equals(pod.annotations().get(Names.PLAIN_REQUESTS));
  }

  /** Whether the pod opts out, and neither a share nor a nodeName decides about it first. */
  boolean leavesNumbers() {
    return optsOut() && !isShare() && !hasNodeName();
  }

  /** Whether a pod that is converted for Tranche's nodes could also use foreign ones. */
  boolean areToo() {
    return !isShare() && !hasNodeName() && takesForeign(new NodeSelection(pod.spec()));
  }

  /** Whether the pod's selectors and tolerations admit a foreign node with all that it requests. */
  private boolean takesForeign(NodeSelection selection) {
    List<String> requested = rules.resources().stream().filter(pod::requests).toList();
    return takes(
        selection, cluster.foreign().stream().filter(n -> requested.stream().allMatch(n::offers)));
  }

  /** Thousands of nodes have a few sets of taints. */
  private boolean takes(NodeSelection selection, Stream<GpuNode> nodes) {
    return nodes
        .filter(selection::admits)
        .map(GpuNode::taints)
        .distinct()
        .anyMatch(taints -> taints.toleratedBy(pod.spec()));
  }

  /** Whether an annotation requests what only Tranche's plugin can give. */
  private boolean isShare() {
    return GpuRequests.firstKey(pod.annotations()).isPresent()
        || PlacementAnnotations.areOn(pod.annotations());
  }

  /** Whether Tranche has converted its number before, as in a pod that is restored. */
  private boolean countsReplicas() {
    return pod.annotations().containsKey(Names.GPUS_REQUESTED);
  }

  /** No scheduler and no affinity chooses for it, and that node's plugin says what it counts. */
  private boolean hasNodeName() {
    return !pod.text("nodeName").isEmpty();
  }

  /**
   * Keeps a pod that is left to foreign nodes off ours if it opts out, or if only taints keep it
   * off: a toleration can be added later.
   */
  void requireNoneOfOurs(RequiredNodeAffinity affinity) {
    var selection = new NodeSelection(pod.spec());
    if (optsOut() || cluster.nodes().stream().anyMatch(selection::admits)) {
      affinity.require(Names.LABEL_REPLICAS_PER_GPU, "DoesNotExist", List.of());
    }
  }

  /**
   * Keeps replicas that no extender places off nodes of a DRA driver: each would be a whole GPU. A
   * pod with a nodeName gets no requirement, since the kubelet would fail it.
   */
  void requireNoDra(RequiredNodeAffinity affinity) {
    if (!hasNodeName()
        && new NodeSelection(pod.spec()).admitsLabel(Names.SERVED_BY, Names.DRA)
        && cluster.foreign().stream().anyMatch(GpuNode::servedByDra)) {
      affinity.require(Names.SERVED_BY, "NotIn", List.of(Names.DRA));
    }
  }
}
