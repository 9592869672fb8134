package dev.tranche.webhook.compat;

import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.denial;
import static dev.tranche.webhook.Reviews.json;
import static dev.tranche.webhook.Reviews.replicas;
import static dev.tranche.webhook.Reviews.warnings;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.PodView;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** KAI's and HAMi's annotations and resources. */
class TranslationTest {
  private static final GpuNode A100 = node("a", "NVIDIA-A100-PCIE-40GB-SHARED", 40960);
  private static final GpuNode T4 = node("t", "Tesla-T4", 15360);
  private static final MutationRules.Cluster CLUSTER = Reviews.cluster(A100, T4);
  private static final String KAI =
      "{'metadata':{'annotations':{'gpu-fraction':'0.3','gpu-fraction-num-devices':'2','gpu-fraction-container-name':'b'}},"
          + "'spec':{'containers':[{'name':'a'},{'name':'b'}]}}";
  private static final String IGNORED_8GI = ": \"8Gi\" (KAI annotation) has no effect with Tranche";
  private static final String MPS = "'tranche.dev/sharing-strategy':'mps'";
  private static final String TIME_SLICING = "'tranche.dev/sharing-strategy':'time-slicing'";
  private static final String HAMI =
      "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','resources':"
          + "{'limits':{'cpu':'1','nvidia.com/gpu':'2','nvidia.com/gpumem':'4096','nvidia.com/gpucores':'30'},"
          + "'requests':{'cpu':'1','nvidia.com/gpu':'2','nvidia.com/gpumem':'4096','nvidia.com/gpucores':'30'}}}]}}";

  @Test
  void kai_fraction_devicesAndContainer_becomeOurs_andTheirsStay() {
    Mutation mutation = mutate(KAI);
    JsonNode after = apply(mutation, json(KAI));
    assertThat(annotation(after, "gpu-fraction")).isEqualTo("0.3");
    assertThat(annotation(after, "gpu-count")).isEqualTo("2");
    assertThat(annotation(after, "gpu-container")).isEqualTo("b");
    assertThat(after.at("/metadata/annotations/gpu-fraction").asText()).isEqualTo("0.3");
    assertThat(after.at("/spec/containers/1/resources/limits").path("nvidia.com/gpu").asText())
        .isEqualTo("6");
    assertThat(warnings(mutation))
        .contains(
            "gpu-fraction (KAI annotation) is translated to tranche.dev/gpu-fraction: \"0.3\"");
  }

  @Test
  void kai_memory_isInMib() {
    JsonNode after = apply(mutate(kaiMemory("4096")), json(kaiMemory("4096")));
    assertThat(annotation(after, "gpu-memory")).isEqualTo("4096Mi");
    assertThat(denial(mutate(kaiMemory("4Gi")))).contains("is not a number of MiB");
  }

  @Test
  void hami_memoryOnSeveralGpus_becomesOurs_andItsResourcesGo() {
    Mutation mutation = mutate(HAMI);
    JsonNode after = apply(mutation, json(HAMI));
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
        .contains("nvidia.com/gpucores: \"30\" (HAMi resource) has no effect with Tranche");
  }

  /** There the container has all of the memory, so a quarter would be less than it had. */
  @Test
  void hami_coresAlone_areAWholeGpu() {
    String text = hami("'nvidia.com/gpucores':25", "");
    JsonNode after = apply(mutate(text), json(text));
    assertThat(annotation(after, "gpu-fraction.a")).isEqualTo("1");
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(mutate(after)).matches(Reviews::changesNothing);
  }

  /** The owner reads a few problems, and each takes memory. */
  @Test
  void hami_policiesThatContradict_areReportedOnce() {
    String text =
        hami(
            "'nvidia.com/gpucores':50",
            "'hami.io/gpu-scheduler-policy':'binpack%s'".formatted(",spread".repeat(1_000)));
    var messages = new Messages();
    Translation.of(new PodView(json(text)), Set.of(SharingSystem.HAMI), "nvidia.com/gpu", messages);
    assertThat(messages.denial().message()).containsOnlyOnce("keep one of them");
  }

  @Test
  void hami_percentages_areFractions() {
    String text = hami("'nvidia.com/gpumem-percentage':25", "");
    JsonNode after = apply(mutate(text), json(text));
    assertThat(annotation(after, "gpu-fraction.a")).isEqualTo("25%");
    assertThat(replicas(after)).isEqualTo("3");
  }

  /** In HAMi the number counts GPUs, so it may not say another count than the annotation. */
  @ParameterizedTest
  @CsvSource({"1, 2, true", "2, 1, true", "2, 2, false", "0, 2, false"})
  void hami_numberOfGpusBesideACount_isTheSame_orThePodIsDenied(
      int number, String count, boolean denied) {
    String text =
        hami(
            "'nvidia.com/gpu':%d,'nvidia.com/gpumem':4096".formatted(number),
            "'tranche.dev/gpu-count':'%s'".formatted(count));
    assertThat(denial(mutate(text)))
        .contains(
            denied
                ? "nvidia.com/gpu (HAMi resource) is \"%d\", and tranche.dev/gpu-count is \"%s\""
                    .formatted(number, count)
                : "not denied");
  }

  @Test
  void hami_gpuAlone_keepsOurMeaning() {
    String text = hami("'nvidia.com/gpu':1", "");
    assertThat(replicas(apply(mutate(text), json(text)))).isEqualTo("1");
  }

  @Test
  void hami_lists_becomeOurs() {
    String text =
        hami(
            "'nvidia.com/gpucores':50",
            "'nvidia.com/use-gputype':'a100,V100','nvidia.com/nouse-gputype':'T4','nvidia.com/nouse-gpuuuid':'GPU-1','hami.io/gpu-scheduler-policy':'binpack'");
    JsonNode after = apply(mutate(text), json(text));
    assertThat(annotation(after, "gpu-model")).isEqualTo("a100,V100,!T4");
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
    JsonNode after = apply(mutate(text), json(text));
    assertThat(annotation(after, "gpu-fraction")).isEqualTo("1");
    assertThat(annotation(after, "gpu-container")).isEqualTo(name);
  }

  @ParameterizedTest
  @CsvSource({
    "request, 8Gi, request, 8Gi",
    "limit, 8Gi, limit, 8Gi",
    "request, 8Gi, limit, 16Gi",
    "request, 16384Mi, limit, 16Gi"
  })
  void kai_memoryOfAContainer_isItsLimit_whichIsItsRequestIfMissing(
      String one, String value, String other, String otherValue) {
    String text =
        kaiOf("'%s':'%s','%s':'%s'".formatted(bound(one), value, bound(other), otherValue));
    Mutation mutation = mutate(text);
    JsonNode after = apply(mutation, json(text));
    assertThat(annotation(after, "gpu-memory.b")).isEqualTo(otherValue);
    assertThat(after.at("/spec/containers/1/resources/limits").has("nvidia.com/gpu")).isTrue();
    assertThat(warnings(mutation))
        .contains(
            bound(other)
                + " (KAI annotation) is translated to tranche.dev/gpu-memory.b: \""
                + otherValue
                + "\"");
    assertThat(warnings(mutation).contains(bound(one) + IGNORED_8GI))
        .isEqualTo(otherValue.equals("16Gi") && value.equals("8Gi"));
  }

  @Test
  void kai_memoryOfAContainer_thatIsNoAmountOrAboveItsLimit_isRefusedByTheirWord() {
    assertThat(denial(mutate(kaiOf("'" + bound("limit") + "':'8GiB'"))))
        .startsWith(bound("limit") + ": \"8GiB\" is not an amount of memory")
        .doesNotContain("tranche.dev/gpu-memory");
    String both = "'%s':'%%s','%s':'4Gi'".formatted(bound("request"), bound("limit"));
    assertThat(denial(mutate(kaiOf(both.formatted("8GiB")))))
        .startsWith(bound("request") + ": \"8GiB\" is not an amount of memory");
    assertThat(denial(mutate(kaiOf(both.formatted("8Gi")))))
        .isEqualTo(
            bound("request")
                + " (KAI annotation) is \"8Gi\", and "
                + bound("limit")
                + " is \"4Gi\"; keep one of them.");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "'nvidia.com/container.b.gpu-memory.limit':'4Gi','nvidia.com/container.b.gpu-compute.mode':'sm-sharing'",
        "'gpu-fraction':'0.5','mps':'true'"
      })
  void kai_mps_keepsThePodOnNodesThatShareByIt(String annotations) {
    String text = kaiOf(annotations);
    JsonNode once = apply(onMps(json(text)), json(text));
    assertThat(once.at("/spec/nodeSelector")).isEqualTo(json("{" + MPS + "}"));
    String elsewhere = text.replace("'spec':{", "'spec':{'nodeSelector':{'zone':'z'},");
    assertThat(apply(onMps(json(elsewhere)), json(elsewhere)).at("/spec/nodeSelector"))
        .isEqualTo(json("{'zone':'z'," + MPS + "}"));
    assertThat(onMps(once)).matches(Reviews::changesNothing);
    String contrary = text.replace("'spec':{", "'spec':{'nodeSelector':{" + TIME_SLICING + "},");
    assertThat(denial(onMps(json(contrary))))
        .contains(
            "and nodeSelector tranche.dev/sharing-strategy is \"time-slicing\"; keep one of them.");
  }

  @Test
  void kai_mps_withoutAShare_isNotKaisWord() {
    String text = kaiOf("'mps':'true','tranche.dev/gpu-fraction':'0.5'");
    assertThat(apply(mutate(text), json(text)).path("spec").has("nodeSelector")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpu-compute.mode':'time-slicing", "gpus.devices':'GPU-1", "x':'y"})
  void kai_annotationsOfAContainerWithoutMeaning_areNamed(String word) {
    String text =
        kaiOf("'" + bound("limit") + "':'4Gi','nvidia.com/container.b.%s'".formatted(word));
    String shown = "nvidia.com/container.b." + word.replace("':'", ": \"") + "\"";
    assertThat(warnings(mutate(text)))
        .contains(shown + " (KAI annotation) has no effect with Tranche");
  }

  /** HAMi's scheduler looks for a GPU's mode in the text of the annotation. */
  @Test
  void hami_severalModes_areAlternatives() {
    String text = hami("'nvidia.com/gpucores':50", "'nvidia.com/vgpu-mode':'%s'");
    String any = text.formatted("hami-core,mps");
    assertThat(apply(mutate(any), json(any)).path("spec").has("nodeSelector")).isFalse();
    for (String mode : List.of("mps", "mps,mig")) {
      String mps = text.formatted(mode);
      assertThat(apply(mutate(mps), json(mps)).at("/spec/nodeSelector"))
          .isEqualTo(json("{" + MPS + "}"));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "nvidia.com/vgpu-mode, hami-core",
    "nvidia.com/numa-bind, true",
    "hami.io/node-scheduler-policy, binpack",
    "hami.io/device-scoring-weights, slot=1",
    "hami.io/gpu-scheduler-policy, numa",
  })
  void hami_annotationsWithoutMeaning_areNamed(String word, String value) {
    String text =
        hami("'nvidia.com/gpu':2,'nvidia.com/gpucores':50", "'%s':'%s'".formatted(word, value));
    assertThat(warnings(mutate(text)))
        .contains(word + ": \"" + value + "\" (HAMi annotation) has no effect with Tranche");
  }

  @Test
  void hami_mig_isRefusedForAShare_andNamedWithoutOne() {
    String annotation = "'nvidia.com/vgpu-mode':'mig'";
    assertThat(denial(mutate(hami("'nvidia.com/gpumem':4096", annotation))))
        .isEqualTo(
            "nvidia.com/vgpu-mode: \"mig\" is not a value of this HAMi annotation; allowed are"
                + " hami-core and mps.");
    assertThat(denial(mutate(hami("", annotation + ",'tranche.dev/gpu-fraction':'0.5'"))))
        .contains("mig");
    assertThat(warnings(mutate(hami("'nvidia.com/gpu':1", annotation))))
        .containsExactly(
            "nvidia.com/vgpu-mode: \"mig\" (HAMi annotation) has no effect with Tranche");
  }

  @Test
  void hami_policies_areReadOneByOne() {
    String text = hami("'nvidia.com/gpucores':50", "'hami.io/gpu-scheduler-policy':'binpack,numa'");
    Mutation mutation = mutate(text);
    assertThat(annotation(apply(mutation, json(text)), "gpu-placement")).isEqualTo("packed");
    assertThat(warnings(mutation))
        .contains(
            "hami.io/gpu-scheduler-policy: \"numa\" (HAMi annotation) has no effect with Tranche");
  }

  @ParameterizedTest
  @ValueSource(strings = {"'nvidia.com/gpu':1", "'nvidia.com/gpucores':50"})
  void hami_priority_whichNoNodeHas_isTaken(String beside) {
    String text = hami(beside + ",'nvidia.com/priority':1", "");
    Mutation mutation = mutate(text);
    JsonNode after = apply(mutation, json(text));
    assertThat(after.at("/spec/containers/0/resources").toString())
        .contains("nvidia.com/gpu\"")
        .doesNotContain("priority");
    assertThat(warnings(mutation))
        .contains("nvidia.com/priority: \"1\" (HAMi resource) has no effect with Tranche");
    assertThat(mutate(after)).matches(Reviews::changesNothing);
  }

  @Test
  void hami_podThatItsWebhookLeavesAlone_keepsItsWords_andOursHold() {
    String text =
        hami("'nvidia.com/gpumem':4096", "'nvidia.com/use-gputype':'T4'")
            .replace("'metadata':{", "'metadata':{'labels':{'hami.io/webhook':'ignore'},");
    assertThat(mutate(text)).isEqualTo(Mutation.UNCHANGED);
    String ours =
        text.replace("'nvidia.com/gpumem':4096", "")
            .replace("'annotations':{", "'annotations':{'tranche.dev/gpu-fraction':'0.5',");
    JsonNode after = apply(mutate(ours), json(ours));
    assertThat(replicas(after)).isEqualTo("5");
    assertThat(after.at("/metadata/annotations").has("tranche.dev/gpu-model")).isFalse();
    String plain = text.replace("gpumem':4096", "gpu':1").replace("'ignore'", "'read'");
    assertThat(annotation(apply(mutate(plain), json(plain)), "gpu-model")).isEqualTo("T4");
  }

  @Test
  void wordsWithoutMeaning_areNamedAFewTimes() {
    String many =
        IntStream.range(0, 1_000)
            .mapToObj("'nvidia.com/container.c%d.gpus.devices':'x'"::formatted)
            .collect(Collectors.joining(","));
    assertThat(warnings(mutate(kaiOf("'gpu-fraction':'0.5'," + many)))).hasSize(10);
  }

  @Test
  void ownResult_seenAgain_isUnchanged() {
    for (String text :
        List.of(KAI, HAMI, kaiMemory("4096"), kaiOf("'" + bound("request") + "':'8Gi'"))) {
      JsonNode once = apply(mutate(text), json(text));
      assertThat(mutator(Set.of(SharingSystem.values())).mutate(once, CLUSTER))
          .matches(Reviews::changesNothing);
    }
  }

  @Test
  void othersWords_areNotRead_whereTheyAreOff() {
    assertThat(mutator(Set.of(SharingSystem.HAMI)).mutate(json(KAI), CLUSTER))
        .isEqualTo(Mutation.UNCHANGED);
    JsonNode after =
        apply(mutator(Set.of(SharingSystem.KAI)).mutate(json(HAMI), CLUSTER), json(HAMI));
    assertThat(after.at("/metadata/annotations"))
        .as("no share, and the scheduler that every GPU pod gets")
        .hasSize(1);
  }

  @Test
  void podOfAForeignScheduler_isLeftAlone() {
    String text = KAI.replace("'spec':{", "'spec':{'schedulerName':'kai-scheduler',");
    assertThat(mutate(text)).isEqualTo(Mutation.UNCHANGED);
  }

  private static Mutation mutate(String pod) {
    return mutator(Set.of(SharingSystem.values())).mutate(json(pod), CLUSTER);
  }

  private static Mutation mutate(JsonNode pod) {
    return mutator(Set.of(SharingSystem.values())).mutate(pod, CLUSTER);
  }

  private static Mutation onMps(JsonNode pod) {
    var labels =
        Map.of(
            "tranche.dev/replicas-per-gpu",
            "10",
            "nvidia.com/gpu.memory",
            "15360",
            "tranche.dev/sharing-strategy",
            "mps",
            "zone",
            "z");
    var cluster = Reviews.cluster(A100, Reviews.node("m", labels));
    return mutator(Set.of(SharingSystem.values())).mutate(pod, cluster);
  }

  private static String bound(String which) {
    return "nvidia.com/container.b.gpu-memory." + which;
  }

  private static String kaiOf(String annotations) {
    return "{'metadata':{'annotations':{%s}},'spec':{'containers':[{'name':'a'},{'name':'b'}]}}"
        .formatted(annotations);
  }

  private static PodMutator mutator(Set<SharingSystem> dialects) {
    return new PodMutator(Reviews.rules(dialects));
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
    return Reviews.node(
        name,
        "tranche.dev/replicas-per-gpu",
        "10",
        "nvidia.com/gpu.product",
        product,
        "nvidia.com/gpu.memory",
        "" + memoryMib);
  }
}
