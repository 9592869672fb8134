package dev.tranche.extender.selection;

import dev.tranche.api.LabelOperator;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.api.Taint;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a pod's spec that restrict its nodes, as its JSON has them. Absent texts, lists and
 * maps are empty.
 */
public record PodSelection(
    String nodeName,
    Map<String, String> nodeSelector,
    @Nullable Affinity affinity,
    List<Toleration> tolerations) {
  /** The labels by which admission keeps a pod on nodes where its share has the computed size. */
  private static final Set<String> PINS =
      Set.of(Names.LABEL_MEMORY, Names.LABEL_MEMORY_USABLE, Names.LABEL_REPLICAS_PER_GPU);

  private static final int SHOWN_MAX = 4;

  /**
   * What admission requires of the pod's nodes.
   *
   * @param requires labels, such as {@code nvidia.com/gpu.memory In 15360}
   * @param contradicts what else of the pod excludes all such nodes; mostly empty
   * @param excluded which fields of the pod exclude all nodes with GPUs; mostly empty
   */
  public record Pin(String requires, String contradicts, String excluded) {}

  record Affinity(@Nullable NodeAffinity nodeAffinity) {}

  record NodeAffinity(@Nullable NodeSelector requiredDuringSchedulingIgnoredDuringExecution) {}

  record NodeSelector(List<Term> nodeSelectorTerms) {}

  /** An empty term matches nothing. */
  record Term(List<Requirement> matchFields, List<Requirement> matchExpressions) {
    Stream<Requirement> pins() {
      return matchExpressions.stream().filter(r -> PINS.contains(r.key));
    }

    Stream<Requirement> others() {
      return matchExpressions.stream().filter(r -> !PINS.contains(r.key));
    }

    boolean matches(String node, NodeTraits traits) {
      return !(matchFields.isEmpty() && matchExpressions.isEmpty())
          && matchFields.stream().allMatch(r -> r.key.equals("metadata.name") && r.matches(node))
          && matchExpressions.stream().allMatch(r -> r.matches(traits.labels().get(r.key)));
    }
  }

  record Requirement(String key, String operator, List<String> values) {
    String words() {
      String shown = values.stream().limit(SHOWN_MAX).collect(Collectors.joining(", "));
      return Printable.message((key + " " + operator + " " + shown).strip());
    }

    boolean matches(@Nullable String value) {
      long bound =
          values.isEmpty() ? LabelOperator.NO_NUMBER : LabelOperator.number(values.getFirst());
      return LabelOperator.matches(operator, values, bound, value);
    }
  }

  record Toleration(String key, String operator, String value, String effect) {}

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

  /**
   * Returns the labels by which admission keeps the pod on nodes where its share has the computed
   * size, and what else of the pod excludes all of these nodes.
   */
  Pin pin(Map<String, NodeTraits> nodes) {
    NodeSelector required = required();
    List<Term> terms = required == null ? List.of() : required.nodeSelectorTerms;
    List<String> pins = texts(terms.stream().flatMap(Term::pins));
    String excluded =
        Exclusion.ofAll(nodes.entrySet().stream().map(n -> excludes(n.getKey(), n.getValue())));
    if (pins.isEmpty()) {
      return new Pin("", "", excluded);
    }
    boolean pinned = false;
    boolean chosen = false;
    boolean both = false;
    for (Map.Entry<String, NodeTraits> each : nodes.entrySet()) {
      Map<String, String> labels = each.getValue().labels();
      boolean selected = labels.entrySet().containsAll(nodeSelector.entrySet());
      pinned |= terms.stream().anyMatch(t -> t.pins().allMatch(r -> r.matches(labels.get(r.key))));
      chosen |=
          selected
              && terms.stream()
                  .anyMatch(t -> t.others().allMatch(r -> r.matches(labels.get(r.key))));
      both |= selected && terms.stream().anyMatch(t -> t.matches(each.getKey(), each.getValue()));
    }
    return new Pin(
        String.join(" or ", pins), pinned && chosen && !both ? others(terms) : "", excluded);
  }

  private String others(List<Term> terms) {
    var texts = new ArrayList<String>();
    nodeSelector.forEach((key, value) -> texts.add("nodeSelector " + key + "=" + value));
    texts(terms.stream().flatMap(Term::others)).forEach(text -> texts.add("node affinity " + text));
    return texts.stream()
        .limit(SHOWN_MAX)
        .map(Printable::message)
        .collect(Collectors.joining(" and "));
  }

  private static List<String> texts(Stream<Requirement> requirements) {
    return requirements
        .filter(r -> !r.operator.equals("DoesNotExist"))
        .map(Requirement::words)
        .distinct()
        .limit(SHOWN_MAX)
        .toList();
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
