package dev.tranche.extender.selection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Taint;
import dev.tranche.extender.selection.PodSelection.Pin;
import dev.tranche.extender.watch.PodReader;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PodSelectionTest {
  private static final Map<String, String> LABELS = Map.of("zone", "a", "gpus", "8");

  private static Optional<Exclusion> judged(String spec, Taint... taints) {
    return judged(spec, new NodeTraits(LABELS, List.of(taints), false));
  }

  private static Optional<Exclusion> judged(String spec, NodeTraits traits) {
    String yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: " + spec;
    return PodReader.selection(Serialization.unmarshal(yaml, Pod.class)).excludes("n1", traits);
  }

  @Test
  void podThatSaysNothing_excludesNothing() {
    Pod pod = new PodBuilder().withNewSpec().endSpec().build();
    var traits = new NodeTraits(LABELS, List.of(), false);
    assertThat(PodReader.selection(pod).excludes("n1", traits)).isEmpty();
  }

  @Test
  void nodeName_andNodeSelector() {
    assertThat(judged("{nodeName: n1}")).isEmpty();
    assertThat(judged("{nodeName: n2}")).hasValue(Exclusion.NODE_NAME);
    assertThat(judged("{nodeSelector: {zone: a}}")).isEmpty();
    assertThat(judged("{nodeSelector: {zone: a, gpus: '4'}}")).hasValue(Exclusion.NODE_SELECTOR);
    assertThat(judged("{nodeSelector: {rack: ''}}")).hasValue(Exclusion.NODE_SELECTOR);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "zone | In | [a, b] | true",
        "zone | In | [b] | false",
        "rack | In | [''] | false",
        "zone | NotIn | [b] | true",
        "rack | NotIn | [b] | true",
        "zone | NotIn | [a] | false",
        "zone | Exists | [] | true",
        "rack | Exists | [] | false",
        "rack | DoesNotExist | [] | true",
        "zone | DoesNotExist | [] | false",
        "gpus | Gt | ['7'] | true",
        "gpus | Gt | ['8'] | false",
        "gpus | Lt | ['10'] | true",
        "gpus | Lt | ['8'] | false",
        "zone | Gt | ['1'] | false",
        "rack | Lt | ['1'] | false",
        "gpus | Unknown | ['1'] | false"
      })
  void expressions(String key, String operator, String values, boolean holds) {
    String term =
        "{matchExpressions: [{key: %s, operator: %s, values: %s}]}"
            .formatted(key, operator, values);
    assertThat(judged(affinity(term)).isEmpty()).isEqualTo(holds);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'' | '' | ''",
        "'nodeSelector: {pool: t4}' | '' | ''",
        "'nodeSelector: {pool: l4}' | 'nodeSelector pool=l4' | nodeSelector and required node affinity",
        "'nodeSelector: {pool: none}' | '' | nodeSelector",
      })
  void laterSelectorThatExcludesAllPinnedNodes_isNamed(
      String selector, String contradicts, String excluded) {
    String term =
        "{matchExpressions: [{key: nvidia.com/gpu.memory, operator: In, values: ['15360']}]}";
    assertThat(pin(withSelector(term, selector))).isEqualTo(new Pin(PINNED, contradicts, excluded));
  }

  @Test
  void affinityThatIsNarrowedLater_isNamedToo() {
    String term =
        "{matchExpressions: [{key: nvidia.com/gpu.memory, operator: In, values: ['15360']}, {key:"
            + " pool, operator: In, values: [l4, a100]}]}";
    assertThat(pin(affinity(term)))
        .isEqualTo(new Pin(PINNED, "node affinity pool In l4, a100", "required node affinity"));
  }

  @Test
  void podThatIsPinnedByItsReplicas_andOneThatIsNot() {
    String term =
        "{matchExpressions: [{key: tranche.dev/replicas-per-gpu, operator: In, values: ['10']}]}";
    assertThat(pin(affinity(term)))
        .isEqualTo(new Pin("tranche.dev/replicas-per-gpu In 10", "", ""));
    assertThat(pin("{nodeSelector: {pool: l4}}")).isEqualTo(new Pin("", "", ""));
  }

  private static final String PINNED = "nvidia.com/gpu.memory In 15360";

  private static Pin pin(String spec) {
    var table = new NodeTraits.Table();
    Map.of("t4", "15360", "l4", "23034")
        .forEach(
            (pool, memory) ->
                table.put(
                    pool,
                    NodeTraits.of(
                        Map.of(
                            "pool",
                            pool,
                            "nvidia.com/gpu.memory",
                            memory,
                            "tranche.dev/replicas-per-gpu",
                            "10"),
                        List.of(),
                        false)));
    String yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: " + spec;
    return table.pin(PodReader.selection(Serialization.unmarshal(yaml, Pod.class)));
  }

  private static String withSelector(String term, String selector) {
    String spec = affinity(term);
    return selector.isEmpty() ? spec : spec.replaceFirst("\\{", "{" + selector + ", ");
  }

  private static String affinity(String... terms) {
    return "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [%s]}}}}"
        .formatted(String.join(", ", terms));
  }

  @Test
  void oneTermIsEnough_andAnEmptyOneMatchesNothing() {
    String other = "{matchExpressions: [{key: zone, operator: In, values: [b]}]}";
    String name = "{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}";
    assertThat(judged(affinity(other, name))).isEmpty();
    assertThat(judged(affinity(other, "{}"))).hasValue(Exclusion.NODE_AFFINITY);
    String both =
        "{matchFields: [{key: metadata.name, operator: In, values: [n1]}], matchExpressions: [{key: zone, operator: In, values: [b]}]}";
    assertThat(judged(affinity(both))).hasValue(Exclusion.NODE_AFFINITY);
  }

  @Test
  void taints_areToleratedAsKubeSchedulerDoes() {
    var ours = new Taint("team", "a", "NoSchedule");
    assertThat(judged("{}", ours)).hasValue(Exclusion.TAINTS);
    assertThat(judged("{tolerations: [{operator: Exists}]}", ours)).isEmpty();
    assertThat(judged("{tolerations: [{key: team, value: a}]}", ours)).isEmpty();
    assertThat(judged("{tolerations: [{key: team, value: b}]}", ours)).hasValue(Exclusion.TAINTS);
    assertThat(judged("{tolerations: [{key: team, operator: Exists, effect: NoExecute}]}", ours))
        .hasValue(Exclusion.TAINTS);
    var evicting = new Taint("team", "a", "NoExecute");
    assertThat(judged("{tolerations: [{key: team, value: a}]}", ours, evicting)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"Gt, 949, true", "Gt, 950, false", "Lt, 951, true", "Lt, 950, false", "Gt, x, false"})
  void comparison_isOfTheTaintsValueWithTheTolerations(
      String operator, String value, boolean tolerated) {
    String spec =
        "{tolerations: [{key: sla, operator: %s, value: '%s'}]}".formatted(operator, value);
    assertThat(judged(spec, new Taint("sla", "950", "NoSchedule")).isEmpty()).isEqualTo(tolerated);
  }

  @Test
  void cordonedNode_isExcluded_unlessItsTaintIsTolerated() {
    var cordoned = new NodeTraits(LABELS, List.of(), true);
    assertThat(judged("{}", cordoned)).hasValue(Exclusion.UNSCHEDULABLE);
    assertThat(judged("{tolerations: [{operator: Exists}]}", cordoned)).isEmpty();
  }

  @Test
  void softTaints_areNotKept_andTooManyLabelsAreNotJudged() {
    var soft = new Taint("slow", "", "PreferNoSchedule");
    assertThat(NodeTraits.of(LABELS, List.of(soft), false).orElseThrow().taints()).isEmpty();
    Map<String, String> many =
        IntStream.rangeClosed(0, NodeTraits.LABELS_MAX)
            .boxed()
            .collect(Collectors.toMap(i -> "l" + i, i -> ""));
    assertThat(NodeTraits.of(many, List.of(), false)).isEmpty();
    var table = new NodeTraits.Table();
    table.put("n1", NodeTraits.of(LABELS, List.of(), true));
    var filter =
        table.filter(PodReader.selection(new PodBuilder().withNewSpec().endSpec().build()));
    assertThat(filter.excludes("n1")).hasValue(Exclusion.UNSCHEDULABLE);
    assertThat(filter.excludes("n2")).isEmpty();
    table.put("n1", NodeTraits.of(many, List.of(), true));
    assertThat(filter.excludes("n1")).isEmpty();
  }
}
