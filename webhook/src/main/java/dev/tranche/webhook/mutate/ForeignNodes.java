package dev.tranche.webhook.mutate;

import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.PlacementAnnotations;
import java.util.List;
import java.util.stream.Stream;

/**
 * Decides which pods are left to nodes that others serve, a DRA driver or another device plugin. A
 * number that counts replicas on Tranche's nodes counts whole GPUs there, or what their plugin
 * says.
 */
final class ForeignNodes {
  private ForeignNodes() {}

  /**
   * Returns whether the pod keeps its number: it opts out, or it may use foreign nodes and none of
   * ours. A share is possible on ours alone.
   */
  static boolean keep(PodView pod, MutationRules.Cluster cluster, MutationRules rules) {
    if (leavesNumbers(pod, rules)) {
      return true;
    }
    if (isShare(pod) || hasNodeName(pod) || countsReplicas(pod)) {
      return false;
    }
    var selection = new NodeSelection(pod.spec());
    return selection.forbids(Names.LABEL_REPLICAS_PER_GPU)
        || selectsDra(selection)
        || (takesForeign(pod, selection, cluster, rules)
            && !takes(pod, selection, cluster.nodes().stream()));
  }

  /** Before the first node of a DRA driver is there, only its label can say so. */
  private static boolean selectsDra(NodeSelection selection) {
    return selection.admitsLabel(Names.SERVED_BY, Names.DRA)
        && !selection.admitsLabel(Names.SERVED_BY, null);
  }

  private static boolean optsOut(PodView pod, MutationRules rules) {
    return rules.plainRequests() == MutationRules.PlainRequests.UNCHANGED
        || Names.UNCHANGED.equals(pod.annotations().get(Names.PLAIN_REQUESTS));
  }

  /** Whether the pod opts out, and neither a share nor a nodeName decides about it first. */
  static boolean leavesNumbers(PodView pod, MutationRules rules) {
    return optsOut(pod, rules) && !isShare(pod) && !hasNodeName(pod);
  }

  /** Whether a pod that is converted for Tranche's nodes could also use foreign ones. */
  static boolean areToo(PodView pod, MutationRules.Cluster cluster, MutationRules rules) {
    return !isShare(pod)
        && !hasNodeName(pod)
        && takesForeign(pod, new NodeSelection(pod.spec()), cluster, rules);
  }

  /** Whether the pod's selectors and tolerations admit a foreign node with all that it requests. */
  private static boolean takesForeign(
      PodView pod, NodeSelection selection, MutationRules.Cluster cluster, MutationRules rules) {
    List<String> requested = rules.resources().stream().filter(pod::requests).toList();
    return takes(
        pod,
        selection,
        cluster.foreign().stream().filter(n -> requested.stream().allMatch(n::offers)));
  }

  /** Thousands of nodes have a few sets of taints. */
  private static boolean takes(PodView pod, NodeSelection selection, Stream<GpuNode> nodes) {
    return nodes
        .filter(selection::admits)
        .map(GpuNode::taints)
        .distinct()
        .anyMatch(taints -> taints.toleratedBy(pod.spec()));
  }

  /** Whether an annotation requests what only Tranche's plugin can give. */
  private static boolean isShare(PodView pod) {
    return GpuRequests.firstKey(pod.annotations()).isPresent()
        || PlacementAnnotations.areOn(pod.annotations());
  }

  /** Whether Tranche has converted its number before, as in a pod that is restored. */
  private static boolean countsReplicas(PodView pod) {
    return pod.annotations().containsKey(Names.GPUS_REQUESTED);
  }

  /** No scheduler and no affinity chooses for it, and that node's plugin says what it counts. */
  private static boolean hasNodeName(PodView pod) {
    return !pod.text("nodeName").isEmpty();
  }

  /**
   * Keeps a pod that is left to foreign nodes off ours if it opts out, or if only taints keep it
   * off: a toleration can be added later.
   */
  static void requireNoneOfOurs(
      PodView pod,
      MutationRules.Cluster cluster,
      MutationRules rules,
      RequiredNodeAffinity affinity) {
    var selection = new NodeSelection(pod.spec());
    if (optsOut(pod, rules) || cluster.nodes().stream().anyMatch(selection::admits)) {
      affinity.require(Names.LABEL_REPLICAS_PER_GPU, "DoesNotExist", List.of());
    }
  }

  /**
   * Keeps replicas that no extender places off nodes of a DRA driver: each would be a whole GPU. A
   * pod with a nodeName gets no requirement, since the kubelet would fail it.
   */
  static void requireNoDra(
      PodView pod, MutationRules.Cluster cluster, RequiredNodeAffinity affinity) {
    if (!hasNodeName(pod)
        && new NodeSelection(pod.spec()).admitsLabel(Names.SERVED_BY, Names.DRA)
        && cluster.foreign().stream().anyMatch(GpuNode::servedByDra)) {
      affinity.require(Names.SERVED_BY, "NotIn", List.of(Names.DRA));
    }
  }
}
