package dev.tranche.webhook.mutate;

import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.PlacementAnnotations;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * What serves the GPUs of the nodes that a pod is restricted to. The same number counts replicas on
 * a node with Tranche's device plugin, and whole GPUs on a node with a DRA driver. What it counts
 * on a foreign node, that node's own plugin says.
 */
public enum ServedBy {
  DEVICE_PLUGIN,
  DRA,
  OTHER;

  /** What an administrator can prefer. */
  public static final List<ServedBy> PREFERABLE = List.of(DEVICE_PLUGIN, DRA);

  /**
   * Chooses for a pod: by its nodeName, else by what its own selectors leave, else by the nodes
   * that they admit, else the preferred one. A share is possible with the device plugin alone. A
   * pod is left to foreign nodes if it opts out, or may use some of them and none of ours.
   *
   * @param preferred if the selectors leave both or none
   */
  static ServedBy of(
      PodView pod, MutationRules.Cluster cluster, MutationRules rules, ServedBy preferred) {
    List<GpuNode> nodes = cluster.nodes();
    if (isShare(pod) || (countsReplicas(pod) && !optsOut(pod, rules))) {
      return DEVICE_PLUGIN;
    }
    if (hasNodeName(pod)) {
      return admitsDra(pod, nodes) ? DRA : DEVICE_PLUGIN;
    }
    var selection = new NodeSelection(pod.spec());
    boolean draSelected = selection.admitsLabel(Names.SERVED_BY, Names.DRA);
    if (draSelected && !selection.admitsLabel(Names.SERVED_BY, null)) {
      return DRA;
    }
    if (optsOut(pod, rules) || selection.forbids(Names.LABEL_REPLICAS_PER_GPU)) {
      return OTHER;
    }
    if (takesForeign(pod, cluster, rules) && !takes(pod, nodes.stream().filter(ServedBy::ours))) {
      return OTHER;
    }
    if (!draSelected) {
      return DEVICE_PLUGIN;
    }
    boolean dra = admitsDra(pod, nodes);
    boolean plugin = admitsPlugin(pod, nodes);
    return dra == plugin ? preferred : dra ? DRA : DEVICE_PLUGIN;
  }

  private static boolean optsOut(PodView pod, MutationRules rules) {
    return rules.plainRequests() == MutationRules.PlainRequests.UNCHANGED
        || Names.UNCHANGED.equals(pod.annotations().get(Names.PLAIN_REQUESTS));
  }

  /** Whether the pod opts out, and neither a share nor a nodeName decides about it first. */
  static boolean isLeft(PodView pod, MutationRules rules) {
    return optsOut(pod, rules) && !isShare(pod) && !hasNodeName(pod);
  }

  private static boolean ours(GpuNode node) {
    return !node.servedByDra();
  }

  /** Whether the pod's selectors and tolerations admit a foreign node with all that it requests. */
  private static boolean takesForeign(
      PodView pod, MutationRules.Cluster cluster, MutationRules rules) {
    List<String> requested = rules.resources().stream().filter(pod::requests).toList();
    return takes(
        pod, cluster.foreign().stream().filter(n -> requested.stream().allMatch(n::offers)));
  }

  /** Thousands of nodes have a few sets of taints. */
  private static boolean takes(PodView pod, Stream<GpuNode> nodes) {
    return nodes
        .filter(admitted(pod))
        .map(GpuNode::taints)
        .distinct()
        .anyMatch(taints -> taints.toleratedBy(pod.spec()));
  }

  /** Whether a pod that is converted for Tranche's nodes could also use foreign ones. */
  static boolean besideForeign(PodView pod, MutationRules.Cluster cluster, MutationRules rules) {
    return !isShare(pod) && !hasNodeName(pod) && takesForeign(pod, cluster, rules);
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

  private static boolean hasNodeName(PodView pod) {
    return !pod.text("nodeName").isEmpty();
  }

  private static boolean admitsDra(PodView pod, List<GpuNode> nodes) {
    Predicate<GpuNode> admitted = admitted(pod);
    return nodes.stream().anyMatch(n -> n.servedByDra() && admitted.test(n));
  }

  private static boolean admitsPlugin(PodView pod, List<GpuNode> nodes) {
    Predicate<GpuNode> admitted = admitted(pod);
    return nodes.stream().anyMatch(n -> n.replicasPerGpu().isPresent() && admitted.test(n));
  }

  /** By its nodeName, no scheduler looks at the pod's selectors. */
  private static Predicate<GpuNode> admitted(PodView pod) {
    return hasNodeName(pod)
        ? node -> node.name().equals(pod.text("nodeName"))
        : new NodeSelection(pod.spec())::admits;
  }

  /** Says where a plain request is placed, if nodes of both kinds admit the pod. */
  Optional<String> warning(PodView pod, List<GpuNode> nodes) {
    if (this == OTHER || isShare(pod)) {
      return Optional.empty();
    }
    return admitsDra(pod, nodes) && admitsPlugin(pod, nodes)
        ? Optional.of(Warning.SERVED_BY_BOTH.of(this == DRA ? "a DRA driver" : "a device plugin"))
        : Optional.empty();
  }

  /** Whether the pod's selectors admit nodes with a DRA driver and none with a device plugin. */
  static boolean onlyDra(PodView pod, List<GpuNode> nodes) {
    return admitsDra(pod, nodes) && !admitsPlugin(pod, nodes);
  }

  /**
   * Restricts the pod to these nodes, by node affinity, so that an autoscaler sees it. Without any
   * node of a DRA driver, a device plugin needs no requirement. A pod for foreign nodes is kept off
   * ours if it opts out, or if only taints keep it off: a toleration can be added later. A pod with
   * a nodeName gets none: it cannot go elsewhere, and the kubelet would fail it if its node were
   * not labelled so.
   */
  void require(
      PodView pod, MutationRules.Cluster cluster, MutationRules rules, NodeAffinityPatch affinity) {
    if (hasNodeName(pod)) {
      return;
    }
    var selection = new NodeSelection(pod.spec());
    List<GpuNode> nodes = cluster.nodes();
    switch (this) {
      case DRA -> {
        if (selection.admitsLabel(Names.SERVED_BY, null)) {
          affinity.require(Names.SERVED_BY, "In", List.of(Names.DRA));
        }
      }
      case DEVICE_PLUGIN -> {
        if (selection.admitsLabel(Names.SERVED_BY, Names.DRA)
            && nodes.stream().anyMatch(GpuNode::servedByDra)) {
          affinity.require(Names.SERVED_BY, "NotIn", List.of(Names.DRA));
        }
      }
      case OTHER -> {
        if (optsOut(pod, rules)
            || nodes.stream().filter(ServedBy::ours).anyMatch(selection::admits)) {
          affinity.require(Names.LABEL_REPLICAS_PER_GPU, "DoesNotExist", List.of());
        }
      }
    }
  }

  /** As the configuration spells it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
