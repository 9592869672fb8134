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

/**
 * What serves the GPUs of the nodes that a pod is restricted to. The same number counts replicas on
 * a node with a device plugin, and whole GPUs on a node with a DRA driver.
 */
public enum ServedBy {
  DEVICE_PLUGIN,
  DRA;

  /**
   * Chooses for a pod: what its own selectors leave, else what the nodes that they admit have, else
   * the configured one. A share is possible with the device plugin alone.
   *
   * @param nodes all that are labelled
   */
  static ServedBy of(PodView pod, List<GpuNode> nodes, MutationRules rules) {
    if (isShare(pod)) {
      return DEVICE_PLUGIN;
    }
    var selection = new NodeSelection(pod.spec());
    if (!selection.admitsLabel(Names.SERVED_BY, Names.DRA)) {
      return DEVICE_PLUGIN;
    }
    if (!selection.admitsLabel(Names.SERVED_BY, null)) {
      return DRA;
    }
    boolean dra = admitsDra(selection, nodes);
    boolean plugin = admitsPlugin(selection, nodes);
    return dra == plugin ? rules.plainServedBy() : dra ? DRA : DEVICE_PLUGIN;
  }

  /** Whether an annotation requests what only Tranche's plugin can give. */
  private static boolean isShare(PodView pod) {
    return GpuRequests.firstKey(pod.annotations()).isPresent()
        || PlacementAnnotations.areOn(pod.annotations());
  }

  private static boolean admitsDra(NodeSelection selection, List<GpuNode> nodes) {
    return nodes.stream().anyMatch(n -> n.servedByDra() && selection.admits(n));
  }

  private static boolean admitsPlugin(NodeSelection selection, List<GpuNode> nodes) {
    return nodes.stream().anyMatch(n -> n.replicasPerGpu().isPresent() && selection.admits(n));
  }

  /** Says where a plain request is placed, if nodes of both kinds admit the pod. */
  Optional<String> warning(PodView pod, List<GpuNode> nodes) {
    if (isShare(pod)) {
      return Optional.empty();
    }
    var selection = new NodeSelection(pod.spec());
    return admitsDra(selection, nodes) && admitsPlugin(selection, nodes)
        ? Optional.of(Warning.SERVED_BY_BOTH.of(this == DRA ? "a DRA driver" : "a device plugin"))
        : Optional.empty();
  }

  /** Whether the pod's selectors admit nodes with a DRA driver and none with a device plugin. */
  static boolean onlyDra(PodView pod, List<GpuNode> nodes) {
    var selection = new NodeSelection(pod.spec());
    return admitsDra(selection, nodes) && !admitsPlugin(selection, nodes);
  }

  /**
   * Restricts the pod to these nodes, by node affinity, so that an autoscaler sees it. Without any
   * node of a DRA driver, a device plugin needs no requirement.
   */
  void require(PodView pod, List<GpuNode> nodes, NodeAffinityPatch affinity) {
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
