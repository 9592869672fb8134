package dev.tranche.extender.selection;

import dev.tranche.api.LabelOperator;
import dev.tranche.api.Taint;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The fields of a pod's spec that restrict its nodes, as its JSON has them. */
public record PodSelection(
    String nodeName,
    Map<String, String> nodeSelector,
    @Nullable Affinity affinity,
    List<Toleration> tolerations) {
  public PodSelection(
      @Nullable String nodeName,
      @Nullable Map<String, String> nodeSelector,
      @Nullable Affinity affinity,
      @Nullable List<Toleration> tolerations) {
    this.nodeName = text(nodeName);
    this.nodeSelector = nodeSelector == null ? Map.of() : nodeSelector;
    this.affinity = affinity;
    this.tolerations = list(tolerations);
  }

  record Affinity(@Nullable NodeAffinity nodeAffinity) {}

  record NodeAffinity(@Nullable NodeSelector requiredDuringSchedulingIgnoredDuringExecution) {}

  record NodeSelector(List<Term> nodeSelectorTerms) {
    NodeSelector(@Nullable List<Term> nodeSelectorTerms) {
      this.nodeSelectorTerms = list(nodeSelectorTerms);
    }
  }

  /** An empty term matches nothing. */
  record Term(List<Requirement> matchFields, List<Requirement> matchExpressions) {
    Term(@Nullable List<Requirement> matchFields, @Nullable List<Requirement> matchExpressions) {
      this.matchFields = list(matchFields);
      this.matchExpressions = list(matchExpressions);
    }

    boolean matches(String node, NodeTraits traits) {
      return !(matchFields.isEmpty() && matchExpressions.isEmpty())
          && matchFields.stream().allMatch(r -> r.key.equals("metadata.name") && r.matches(node))
          && matchExpressions.stream().allMatch(r -> r.matches(traits.labels().get(r.key)));
    }
  }

  record Requirement(String key, String operator, List<String> values) {
    Requirement(@Nullable String key, @Nullable String operator, @Nullable List<String> values) {
      this.key = text(key);
      this.operator = text(operator);
      this.values = list(values);
    }

    boolean matches(@Nullable String value) {
      long bound =
          values.isEmpty() ? LabelOperator.NO_NUMBER : LabelOperator.number(values.getFirst());
      return LabelOperator.matches(operator, values, bound, value);
    }
  }

  record Toleration(
      @Nullable String key,
      @Nullable String operator,
      @Nullable String value,
      @Nullable String effect) {}

  private static String text(@Nullable String read) {
    return read == null ? "" : read;
  }

  private static <T> List<T> list(@Nullable List<T> read) {
    return read == null ? List.of() : read.stream().filter(Objects::nonNull).toList();
  }

  Optional<Exclusion> excludes(String node, NodeTraits traits) {
    if (!nodeName.isEmpty() && !nodeName.equals(node)) {
      return Optional.of(Exclusion.NODE_NAME);
    }
    if (!traits.labels().entrySet().containsAll(nodeSelector.entrySet())) {
      return Optional.of(Exclusion.NODE_SELECTOR);
    }
    NodeSelector required = required();
    if (required != null
        && required.nodeSelectorTerms.stream().noneMatch(term -> term.matches(node, traits))) {
      return Optional.of(Exclusion.NODE_AFFINITY);
    }
    if (traits.unschedulable() && !tolerates(Taint.UNSCHEDULABLE)) {
      return Optional.of(Exclusion.UNSCHEDULABLE);
    }
    return traits.taints().stream().allMatch(this::tolerates)
        ? Optional.empty()
        : Optional.of(Exclusion.TAINTS);
  }

  private @Nullable NodeSelector required() {
    return affinity == null || affinity.nodeAffinity == null
        ? null
        : affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution;
  }

  private boolean tolerates(Taint taint) {
    return tolerations.stream()
        .anyMatch(
            toleration ->
                taint.toleratedBy(
                    toleration.key, toleration.operator, toleration.value, toleration.effect));
  }
}
