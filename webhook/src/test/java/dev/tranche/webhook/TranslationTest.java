package dev.tranche.webhook;

import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.denial;
import static dev.tranche.webhook.Reviews.json;
import static dev.tranche.webhook.Reviews.replicas;
import static dev.tranche.webhook.Reviews.warnings;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.nodes.GpuNode;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** KAI's and HAMi's words. */
class TranslationTest {
  private static final GpuNode A100 = node("a", "NVIDIA-A100-PCIE-40GB-SHARED", 40960);
  private static final GpuNode T4 = node("t", "Tesla-T4", 15360);
  private static final MutationRules.Cluster CLUSTER =
      new MutationRules.Cluster(List.of(A100, T4), true);
  private static final String KAI =
      "{'metadata':{'annotations':{'gpu-fraction':'0.3','gpu-fraction-num-devices':'2','gpu-fraction-container-name':'b'}},"
          + "'spec':{'containers':[{'name':'a'},{'name':'b'}]}}";
  private static final String HAMI =
      "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','resources':"
          + "{'limits':{'cpu':'1','nvidia.com/gpu':'2','nvidia.com/gpumem':'4096','nvidia.com/gpucores':'30'},"
          + "'requests':{'cpu':'1','nvidia.com/gpu':'2','nvidia.com/gpumem':'4096','nvidia.com/gpucores':'30'}}}]}}";

  @Test
  void kai_fraction_devicesAndContainer_becomeOurs_andTheirsStay() {
    Mutation mutation = mutate(KAI);
    JsonNode after = apply(mutation, pod(KAI));
    assertThat(annotation(after, "gpu-fraction")).isEqualTo("0.3");
    assertThat(annotation(after, "gpu-count")).isEqualTo("2");
    assertThat(annotation(after, "gpu-container")).isEqualTo("b");
    assertThat(after.at("/metadata/annotations/gpu-fraction").asText()).isEqualTo("0.3");
    assertThat(after.at("/spec/containers/1/resources/limits").path("nvidia.com/gpu").asText())
        .isEqualTo("6");
    assertThat(warnings(mutation))
        .contains(
            "gpu-fraction is KAI's word; Tranche reads it as tranche.dev/gpu-fraction: \"0.3\"");
  }

  @Test
  void kai_memory_isInMib() {
    JsonNode after = apply(mutate(kaiMemory("4096")), pod(kaiMemory("4096")));
    assertThat(annotation(after, "gpu-memory")).isEqualTo("4096Mi");
    assertThat(denial(mutate(kaiMemory("4Gi")))).contains("is not a number of MiB");
  }

  @Test
  void hami_memoryOnSeveralGpus_becomesOurs_andItsResourcesGo() {
    Mutation mutation = mutate(HAMI);
    JsonNode after = apply(mutation, pod(HAMI));
    assertThat(annotation(after, "gpu-memory.a")).isEqualTo("4096Mi");
    assertThat(annotation(after, "gpu-count")).isEqualTo("2");
    for (String section : List.of("limits", "requests")) {
      assertThat(after.at("/spec/containers/0/resources/" + section).toString())
          .startsWith("{\"cpu\":\"1\",\"nvidia.com/gpu\":\"")
          .doesNotContain("gpumem")
          .doesNotContain("gpucores");
    }
    assertThat(Integer.parseInt(replicas(after)) % 2).isZero();
    assertThat(warnings(mutation))
        .contains("nvidia.com/gpucores: \"30\" is HAMi's word and has no effect with Tranche");
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpumem-percentage", "gpucores"})
  void hami_percentages_areFractions(String resource) {
    String text = hami("'nvidia.com/" + resource + "':25", "");
    JsonNode after = apply(mutate(text), pod(text));
    assertThat(annotation(after, "gpu-fraction.a")).isEqualTo("25%");
    assertThat(replicas(after)).isEqualTo("3");
  }

  @Test
  void hami_gpuAlone_keepsOurMeaning() {
    String text = hami("'nvidia.com/gpu':1", "");
    assertThat(replicas(apply(mutate(text), pod(text)))).isEqualTo("1");
  }

  @Test
  void hami_partsOfModelNames_becomeTheNamesOfNodes() {
    String text =
        hami(
            "'nvidia.com/gpucores':50",
            "'nvidia.com/use-gputype':'a100,V100','nvidia.com/nouse-gputype':'T4','nvidia.com/nouse-gpuuuid':'GPU-1','hami.io/gpu-scheduler-policy':'binpack'");
    JsonNode after = apply(mutate(text), pod(text));
    assertThat(annotation(after, "gpu-model")).isEqualTo("NVIDIA-A100-PCIE-40GB,V100,!Tesla-T4");
    assertThat(annotation(after, "gpu-uuid")).isEqualTo("!GPU-1");
    assertThat(annotation(after, "gpu-placement")).isEqualTo("packed");
    assertThat(Reviews.expressions(after))
        .containsExactly(
            "{\"key\":\"nvidia.com/gpu.product\",\"operator\":\"NotIn\",\"values\":[\"Tesla-T4\"]}");
  }

  @Test
  void containerNames_thatAreTooLongForAnAnnotation_areNamedByTheContainersAnnotation() {
    String name = "c".repeat(60);
    String text =
        hami("'nvidia.com/gpucores':50", "").replace("'name':'a'", "'name':'" + name + "'");
    JsonNode after = apply(mutate(text), pod(text));
    assertThat(annotation(after, "gpu-fraction")).isEqualTo("50%");
    assertThat(annotation(after, "gpu-container")).isEqualTo(name);
  }

  @Test
  void ownResult_seenAgain_isUnchanged() {
    for (String text : List.of(KAI, HAMI, kaiMemory("4096"))) {
      JsonNode once = apply(mutate(text), pod(text));
      assertThat(mutator(Set.of(Dialect.values())).mutate(once, CLUSTER))
          .isInstanceOf(Mutation.Unchanged.class);
    }
  }

  @Test
  void othersWords_areNotRead_whereTheyAreOff() {
    assertThat(mutator(Set.of(Dialect.HAMI)).mutate(pod(KAI), CLUSTER))
        .isEqualTo(new Mutation.Unchanged(List.of()));
    JsonNode after = apply(mutator(Set.of(Dialect.KAI)).mutate(pod(HAMI), CLUSTER), pod(HAMI));
    assertThat(after.path("metadata").has("annotations")).isFalse();
  }

  @Test
  void podOfAForeignScheduler_isLeftAlone() {
    String text = KAI.replace("'spec':{", "'spec':{'schedulerName':'kai-scheduler',");
    assertThat(mutate(text)).isEqualTo(new Mutation.Unchanged(List.of()));
  }

  private static Mutation mutate(String pod) {
    return mutator(Set.of(Dialect.values())).mutate(pod(pod), CLUSTER);
  }

  private static PodMutator mutator(Set<Dialect> dialects) {
    return new PodMutator(Reviews.rules(dialects));
  }

  private static JsonNode pod(String text) {
    return json(text.replace('\'', '"'));
  }

  private static String kaiMemory(String value) {
    return "{'metadata':{'annotations':{'gpu-memory':'%s'}},'spec':{'containers':[{'name':'a'}]}}"
        .formatted(value);
  }

  private static String hami(String limits, String annotations) {
    return "{'metadata':{'annotations':{%s}},'spec':{'containers':[{'name':'a','resources':{'limits':{%s}}}]}}"
        .formatted(annotations, limits);
  }

  private static GpuNode node(String name, String product, int memoryMib) {
    return new GpuNode(
        name,
        Map.of(
            "nvidia.com/gpu.replicas",
            "10",
            "nvidia.com/gpu.product",
            product,
            "nvidia.com/gpu.memory",
            "" + memoryMib));
  }
}
