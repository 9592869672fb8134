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

/**
 * What serves the GPUs of the nodes that a pod is restricted to. The same number counts replicas on
 * a node with a device plugin, and whole GPUs on a node with a DRA driver.
 */
public enum ServedBy {
  DEVICE_PLUGIN,
  DRA;

  /**
   * Chooses for a pod: by its nodeName, else by what its own selectors leave, else by the nodes
   * that they admit, else the preferred one. A share is possible with the device plugin alone.
   *
   * @param nodes all that are labelled
   * @param preferred if the selectors leave both or none
   */
  static ServedBy of(PodView pod, List<GpuNode> nodes, ServedBy preferred) {
    if (isShare(pod) || countsReplicas(pod)) {
      return DEVICE_PLUGIN;
    }
    if (hasNodeName(pod)) {
      return admitsDra(pod, nodes) ? DRA : DEVICE_PLUGIN;
    }
    var selection = new NodeSelection(pod.spec());
    if (!selection.admitsLabel(Names.SERVED_BY, Names.DRA)) {
      return DEVICE_PLUGIN;
    }
    if (!selection.admitsLabel(Names.SERVED_BY, null)) {
      return DRA;
    }
    boolean dra = admitsDra(pod, nodes);
    boolean plugin = admitsPlugin(pod, nodes);
    return dra == plugin ? preferred : dra ? DRA : DEVICE_PLUGIN;
  }

  /** Whether an annotation requests what only Tranche's plugin can give. */
  private static boolean isShare(PodView pod) {
    return GpuRequests.firstKey(pod.annotations()).isPresent()
        || PlacementAnnotations.areOn(pod.annotations());
  }

  /** Whether Tranche has converted its number before, as in a pod that is restored. */
  private static boolean countsReplicas(PodView pod) {
    return pod.annotations().containsKey(Names.REPLICAS_PER_GPU)
        || pod.annotations().containsKey(Names.GPUS_REQUESTED);
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
    if (isShare(pod)) {
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
   * node of a DRA driver, a device plugin needs no requirement. A pod with a nodeName gets none: it
   * cannot go elsewhere, and the kubelet would fail it if its node were not labelled so.
   */
  void require(PodView pod, List<GpuNode> nodes, NodeAffinityPatch affinity) {
    if (hasNodeName(pod)) {
      return;
    }
    var selection = new NodeSelection(pod.spec());
    if (this == DRA && selection.admitsLabel(Names.SERVED_BY, null)) {
      affinity.require(Names.SERVED_BY, "In", List.of(Names.DRA));
    } else if (this == DEVICE_PLUGIN
        && selection.admitsLabel(Names.SERVED_BY, Names.DRA)
        && nodes.stream().anyMatch(GpuNode::servedByDra)) {
      affinity.require(Names.SERVED_BY, "NotIn", List.of(Names.DRA));
    }
  }

  /** As the configuration spells it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
