package dev.tranche.extender.selection;

import dev.tranche.api.LabelOperator;
import dev.tranche.api.Taint;
import io.fabric8.kubernetes.api.model.Affinity;
import io.fabric8.kubernetes.api.model.NodeAffinity;
import io.fabric8.kubernetes.api.model.NodeSelector;
import io.fabric8.kubernetes.api.model.NodeSelectorRequirement;
import io.fabric8.kubernetes.api.model.NodeSelectorTerm;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Toleration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a pod that restrict its nodes.
 *
 * @param nodeName empty if any node is allowed
 * @param terms of the required node affinity, of which one must match; null if none is required
 */
public record PodSelection(
    String nodeName,
    Map<String, String> nodeSelector,
    @Nullable List<NodeSelectorTerm> terms,
    List<Toleration> tolerations) {
  public static PodSelection of(Pod pod) {
    var spec = pod.getSpec();
    return new PodSelection(
        Objects.requireNonNullElse(spec.getNodeName(), ""),
        Objects.requireNonNullElse(spec.getNodeSelector(), Map.of()),
        Optional.ofNullable(spec.getAffinity())
            .map(Affinity::getNodeAffinity)
            .map(NodeAffinity::getRequiredDuringSchedulingIgnoredDuringExecution)
            .map(NodeSelector::getNodeSelectorTerms)
            .orElse(null),
        Objects.requireNonNullElse(spec.getTolerations(), List.of()));
  }

  Optional<Exclusion> excludes(String node, NodeTraits traits) {
    if (!nodeName.isEmpty() && !nodeName.equals(node)) {
      return Optional.of(Exclusion.NODE_NAME);
    }
    if (!traits.labels().entrySet().containsAll(nodeSelector.entrySet())) {
      return Optional.of(Exclusion.NODE_SELECTOR);
    }
    if (terms != null && terms.stream().noneMatch(term -> holds(term, node, traits))) {
      return Optional.of(Exclusion.NODE_AFFINITY);
    }
    if (traits.unschedulable() && !tolerates(Taint.UNSCHEDULABLE)) {
      return Optional.of(Exclusion.UNSCHEDULABLE);
    }
    return traits.taints().stream().allMatch(this::tolerates)
        ? Optional.empty()
        : Optional.of(Exclusion.TAINTS);
  }

  /** An empty term matches nothing. */
  private static boolean holds(NodeSelectorTerm term, String node, NodeTraits traits) {
    List<NodeSelectorRequirement> fields = term.getMatchFields();
    List<NodeSelectorRequirement> labels = term.getMatchExpressions();
    return !(fields.isEmpty() && labels.isEmpty())
        && fields.stream().allMatch(r -> r.getKey().equals("metadata.name") && holds(r, node))
        && labels.stream().allMatch(r -> holds(r, traits.labels().get(r.getKey())));
  }

  private static boolean holds(NodeSelectorRequirement requirement, @Nullable String value) {
    List<String> values = requirement.getValues();
    long bound =
        values.isEmpty() ? LabelOperator.NO_NUMBER : LabelOperator.number(values.getFirst());
    return LabelOperator.matches(requirement.getOperator(), values, bound, value);
  }

  private boolean tolerates(Taint taint) {
    return tolerations.stream()
        .anyMatch(
            toleration ->
                taint.toleratedBy(
                    toleration.getKey(),
                    toleration.getOperator(),
                    toleration.getValue(),
                    toleration.getEffect()));
  }
}
