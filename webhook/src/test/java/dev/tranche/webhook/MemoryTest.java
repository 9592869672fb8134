package dev.tranche.webhook;

import static dev.tranche.webhook.Reviews.annotated;
import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.cluster;
import static dev.tranche.webhook.Reviews.denial;
import static dev.tranche.webhook.Reviews.expressions;
import static dev.tranche.webhook.Reviews.replicas;
import static dev.tranche.webhook.Reviews.warnings;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.GrantedGpus;
import dev.tranche.api.Taint;
import dev.tranche.process.fuzz.Seeds;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.nodes.Taints;
import dev.tranche.webhook.pod.Mutation;
import java.math.BigInteger;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests by memory. */
class MemoryTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final String REPLICAS = "tranche.dev/replicas-per-gpu";
  private static final Instant NOW = Instant.parse("2026-11-23T20:14:31Z");
  private static final GpuNode T4 = node("t4", 15360, 10);
  private static final GpuNode A100 = node("a100", 81920, 10);

  private final PodMutator mutator =
      new PodMutator(Reviews.rules(List.of(GPU), 10, "tranche-scheduler", "nvidia"));

  @Test
  void memory_becomesReplicasOfWhatProgramsCanHave_andKeepsThePodOnThatMemory() {
    // 15360 - 640 MiB are 1472 MiB for each replica.
    Mutation mutation = mutate("4Gi", T4);
    JsonNode after = apply(mutation, annotated("gpu-memory", "4Gi"));
    assertThat(replicas(after)).isEqualTo("3");
    assertThat(annotation(after, "granted-fraction")).isEqualTo("0.3");
    assertThat(expressions(after))
        .containsExactly(
            "{\"key\":\"nvidia.com/gpu.memory\",\"operator\":\"In\",\"values\":[\"15360\"]}");
    assertThat(warnings(mutation))
        .containsExactly(
            "container main: 4Gi of GPU memory rounded up to 0.3 of a GPU, 4416Mi, because GPUs are"
                + " split into 10 replicas");
  }

  @Test
  void memory_thatIsExactlyAShare_isNotRounded() {
    Mutation mutation = mutate("1472Mi", T4);
    assertThat(replicas(apply(mutation, annotated("gpu-memory", "1472Mi")))).isEqualTo("1");
    assertThat(warnings(mutation)).isEmpty();
  }

  @Test
  void usableLabel_isBelievedOverTheReserve() {
    var labels = new HashMap<>(T4.labels());
    labels.put("tranche.dev/gpu-memory-usable-mib", "10000");
    JsonNode after =
        apply(mutate("1001Mi", Reviews.node("t4", labels)), annotated("gpu-memory", "1001Mi"));
    assertThat(replicas(after)).isEqualTo("2");
  }

  /** The pod could not be kept on nodes of that memory. */
  @Test
  void usableLabel_withoutTheTotal_isNotEnough() {
    var usable = Map.of("tranche.dev/gpu-memory-usable-mib", "14720", REPLICAS, "10");
    assertThat(denial(mutate("4Gi", Reviews.node("u", usable))))
        .contains("(label nvidia.com/gpu.memory)");
  }

  @Test
  void memoryOfOneContainer_isAddressedByName() {
    ObjectNode asking = annotated("gpu-memory.main", "4Gi");
    assertThat(replicas(apply(mutator.mutate(asking, cluster(T4)), asking))).isEqualTo("3");
  }

  @Test
  void memoryWithCount_isThatMuchOnEachGpu() {
    ObjectNode asking = annotated("gpu-memory", "4Gi", "gpu-count", "2");
    assertThat(replicas(apply(mutator.mutate(asking, cluster(T4)), asking))).isEqualTo("6");
  }

  @Test
  void modelsThatDisagree_keepThePodOnThoseOfMostNodes() {
    Mutation mutation = mutate("4Gi", T4, A100, node("b", 81920, 10));
    JsonNode after = apply(mutation, annotated("gpu-memory", "4Gi"));
    assertThat(replicas(after)).isEqualTo("1");
    assertThat(expressions(after)).singleElement().asString().contains("[\"81920\"]");
    assertThat(warnings(mutation))
        .anySatisfy(w -> assertThat(w).contains("15360, 81920 MiB").contains("those of 81920"));
  }

  /** One node's label would otherwise keep all pods on that node. */
  @Test
  void tie_isDecidedByTheReview_soThatThePodsOfAWorkloadSpread() {
    var chosen = new TreeMap<String, Integer>();
    for (int i = 0; i < 200; i++) {
      ObjectNode asking = annotated("gpu-memory", "4Gi");
      String uid = "705ab4f5-6393-11e8-b7cc-42010a800%03d".formatted(i);
      JsonNode once = apply(mutator.mutate(asking, review(uid, cluster(T4, A100))), asking);
      assertThat(apply(mutator.mutate(asking, review(uid, cluster(A100, T4))), asking))
          .isEqualTo(once);
      assertThat(mutator.mutate(once, review("another", cluster(T4, A100))))
          .as("a webhook that is called twice gets another uid")
          .matches(Reviews::changesNothing);
      chosen.merge(replicas(once), 1, Integer::sum);
    }
    assertThat(chosen)
        .hasSize(2)
        .allSatisfy((replicas, pods) -> assertThat(pods).isBetween(50, 150));
  }

  /** Three tenths of a T4, or one tenth of an A100, of which there are more. */
  @ParameterizedTest
  @CsvSource({
    // What is granted decides if measured memory is not known.
    "'0.7 of 1 GPUs granted',                              '1.0 of 1 GPUs granted', 3",
    "'0.8 of 1 GPUs granted',                              '0.9 of 1 GPUs granted', 1",
    "'0.7 of 1 GPUs granted, largest free share 3/10',  '0.0 of 1 GPUs granted, largest free share"
        + " 0/10', 3",
    "'0.0 of 1 GPUs granted, largest free share 2/10',  '0.0 of 1 GPUs granted, largest free share"
        + " 1/10', 1",
    "'0.0 of 1 GPUs granted, largest free share 6/20',  '0.0 of 1 GPUs granted, largest free share"
        + " 1/20', 3",
    "'0.0 of 1 GPUs granted, largest free share 2/10',  '0.9 of 1 GPUs granted', 1",
    // Nobody has room, so most nodes decide.
    "'1.0 of 1 GPUs granted, largest free share 0/10',  '1.0 of 1 GPUs granted, largest free share"
        + " 0/10', 1",
    "'all of it', '1.0 of 1 GPUs granted, largest free share 99999/10', 1",
  })
  void memory_isSizedForGpusWithRoom(String ofT4, String ofA100, String replicas) {
    for (int i = 0; i < 20; i++) {
      ObjectNode asking = annotated("gpu-memory", "4Gi");
      MutationRules.Cluster cluster = review("review-" + i, measured(ofT4, ofA100, NOW));
      JsonNode once = apply(mutator.mutate(asking, cluster), asking);
      assertThat(replicas(once)).isEqualTo(replicas);
      assertThat(mutator.mutate(once, measured(ofA100, ofT4, NOW)))
          .as("our own result is not chosen again")
          .matches(Reviews::changesNothing);
    }
  }

  /** So a single node does not get all pods as soon as it has room. */
  @Test
  void eachNodeWithRoom_isOneLot() {
    var chosen = new TreeMap<String, Integer>();
    for (int i = 0; i < 300; i++) {
      ObjectNode asking = annotated("gpu-memory", "4Gi");
      String free = "0.0 of 1 GPUs granted, largest free share 10/10";
      MutationRules.Cluster cluster = review("review-" + i, measured(free, free, NOW));
      chosen.merge(replicas(apply(mutator.mutate(asking, cluster), asking)), 1, Integer::sum);
    }
    assertThat(chosen.get("3")).as("on one of three nodes").isBetween(70, 130);
  }

  @ParameterizedTest
  @ValueSource(longs = {-601, 601, 100_000_000})
  void measuredMemory_thatIsOldOrOfAnotherClock_doesNotDecide(long ageSeconds) {
    MutationRules.Cluster cluster =
        measured(
            "0.0 of 1 GPUs granted, largest free share 2/10",
            "1.0 of 1 GPUs granted, largest free share 10/10",
            NOW.minusSeconds(ageSeconds));
    ObjectNode asking = annotated("gpu-memory", "4Gi");
    assertThat(replicas(apply(mutator.mutate(asking, cluster), asking)))
        .as("by what is granted")
        .isEqualTo("3");
  }

  /** An extender of the version before does not write how many replicas are free. */
  @ParameterizedTest
  @CsvSource({"10, 0", "20, 0", "60, 0", "10, 601", "20, 601", "60, 601"})
  void allThatIsFreeOfOneGpu_isGranted_andNoMore(int replicasPerGpu, long ageSeconds) {
    boolean old = ageSeconds > 600;
    for (int free = 1; free < replicasPerGpu; free++) {
      String before =
          String.format(
              Locale.ROOT,
              "%.1f of 1 GPUs granted, largest free share %d/%d",
              1 - (double) free / replicasPerGpu,
              old ? 0 : free,
              replicasPerGpu);
      String now = before + ", %d replicas free".formatted(free);
      for (String text : old ? List.of(now) : List.of(before, now)) {
        assertThat(sized(text, free, replicasPerGpu, ageSeconds)).as(text).isEqualTo(free);
        assertThat(sized(text, free + 1, replicasPerGpu, ageSeconds))
            .as("more than %s", text)
            .isLessThan(free + 1);
      }
    }
  }

  /** The replicas of a pod that requests some of a T4's, while the A100s are full. */
  private int sized(String ofT4, int replicas, int replicasPerGpu, long ageSeconds) {
    long kib = 14720L * 1024 * replicas / replicasPerGpu;
    ObjectNode asking = annotated("gpu-memory", kib + "Ki");
    String full = "2.0 of 2 GPUs granted, largest free share 0/%d, 0 replicas free";
    MutationRules.Cluster cluster =
        measured(
            replicasPerGpu, ofT4, full.formatted(replicasPerGpu), NOW.minusSeconds(ageSeconds));
    return Integer.parseInt(replicas(apply(mutator.mutate(asking, cluster), asking)));
  }

  /** Its label names the A100s, and the free share is one of them or of its other GPU. */
  @ParameterizedTest
  @CsvSource({"'', 1", "NVIDIA-A100, 3"})
  void freeShareOfAMixedNode_countsNotForAPodThatNamesModels(String model, String replicas) {
    var labels = new HashMap<>(A100.labels());
    labels.put("nvidia.com/gpu.count", "1");
    labels.put("tranche.dev/gpus", "2");
    GpuNode mixed = Reviews.node("mixed", labels);
    ObjectNode asking = annotated("gpu-memory", "4Gi");
    if (!model.isEmpty()) {
      asking.withObject("/metadata/annotations").put("tranche.dev/gpu-model", model);
    }
    String free = "0.0 of 1 GPUs granted, largest free share 10/10, 10 replicas free, as of " + NOW;
    String full = "1.0 of 1 GPUs granted, largest free share 0/10, 0 replicas free, as of " + NOW;
    var cluster =
        new MutationRules.Cluster(
            List.of(T4, node("b", 15360, 10), mixed),
            List.of(),
            true,
            node -> GrantedGpus.read(node.mixed() ? free : full).map(GrantedGpus.Written::granted),
            "");
    assertThat(replicas(apply(mutator.mutate(asking, cluster), asking))).isEqualTo(replicas);
  }

  private static MutationRules.Cluster review(String uid, MutationRules.Cluster all) {
    return new MutationRules.Cluster(
        all.nodes(), all.foreign(), all.runtimeClassExists(), all.granted(), uid);
  }

  private static MutationRules.Cluster measured(String ofT4, String ofA100, Instant at) {
    return measured(10, ofT4, ofA100, at);
  }

  private static MutationRules.Cluster measured(
      int replicasPerGpu, String ofT4, String ofA100, Instant at) {
    return new MutationRules.Cluster(
        List.of(
            node("t4", 15360, replicasPerGpu),
            node("a100", 81920, replicasPerGpu),
            node("b", 81920, replicasPerGpu)),
        List.of(),
        true,
        node ->
            GrantedGpus.read(
                    "%s, 41%% SM load, 6 of 14 GiB memory used, as of %s"
                        .formatted(node.name().equals("t4") ? ofT4 : ofA100, at))
                .map(written -> written.now(NOW)),
        "");
  }

  @Test
  void gatedPod_getsWhatIsEnoughOnEveryModel_andOnlySmallerOnesAreExcluded() {
    GpuNode l4 = node("l4", 23034, 10);
    GpuNode small = node("small", 4096, 10);
    ObjectNode gated = gated("8Gi");
    Mutation mutation = mutator.mutate(gated, cluster(T4, A100, node("b", 81920, 10), l4, small));
    JsonNode after = apply(mutation, gated);
    // 8Gi of a T4; on an L4 and an A100 the same share is more.
    assertThat(replicas(after)).isEqualTo("6");
    assertThat(expressions(after))
        .containsExactly(
            "{\"key\":\"nvidia.com/gpu.memory\",\"operator\":\"Gt\",\"values\":[\"15359\"]}");
    assertThat(mutator.mutate(after, cluster(T4, A100, node("b", 81920, 10), l4, small)))
        .matches(Reviews::changesNothing);
    // What Kueue adds later only narrows: each model that is left admits the pod.
    var selection = new NodeSelection(after.path("spec"));
    assertThat(List.of(T4, A100, l4)).allMatch(selection::admits);
    assertThat(selection.admits(small)).isFalse();
  }

  @Test
  void gatedPod_isSizedForNodesThatAreTaintedNow() {
    var taint = new Taints(List.of(new Taint("team", "a", "NoSchedule")));
    var tainted = new GpuNode("t4", T4.labels(), Map.of(), taint);
    ObjectNode gated = gated("8Gi");
    JsonNode after = apply(mutator.mutate(gated, cluster(tainted, A100)), gated);
    assertThat(replicas(after)).isEqualTo("6");
  }

  @Test
  void gatedPodWithLabelsOfUsableMemory_isSizedByTheLeast() {
    ObjectNode gated = gated("4Gi");
    var cluster = cluster(usable("a", 15109), usable("b", 15109), usable("c", 8000));
    assertThat(replicas(apply(mutator.mutate(gated, cluster), gated))).isEqualTo("6");
  }

  /** A volume may exist on one node only, and keeps a pod that is recreated there. */
  @ParameterizedTest
  @ValueSource(strings = {"persistentVolumeClaim", "ephemeral"})
  void podWithAClaim_getsWhatIsEnoughOnEveryModel(String volume) {
    ObjectNode pod = annotated("gpu-memory", "4Gi");
    pod.withArray("/spec/volumes").addObject().put("name", "data").putObject(volume);
    for (int i = 0; i < 20; i++) {
      JsonNode after = apply(mutator.mutate(pod, review("review-" + i, cluster(T4, A100))), pod);
      assertThat(replicas(after)).isEqualTo("3");
      assertThat(List.of(T4, A100)).allMatch(new NodeSelection(after.path("spec"))::admits);
    }
  }

  private static ObjectNode gated(String memory) {
    ObjectNode pod = annotated("gpu-memory", memory);
    ((ObjectNode) pod.path("spec"))
        .putArray("schedulingGates")
        .addObject()
        .put("name", "kueue.x-k8s.io/admission");
    return pod;
  }

  @Test
  void nodeThatSaysItsGpusHaveLittleUsableMemory_isLeftOut_andMakesNoShareLarger() {
    GpuNode honest = usable("a", 15109);
    Mutation mutation = mutate("4Gi", honest, usable("b", 15109), usable("liar", 4200));
    JsonNode after = apply(mutation, annotated("gpu-memory", "4Gi"));
    assertThat(replicas(after)).isEqualTo("3");
    assertThat(expressions(after))
        .containsExactlyInAnyOrder(
            "{\"key\":\"nvidia.com/gpu.memory\",\"operator\":\"In\",\"values\":[\"15360\"]}",
            "{\"key\":\"tranche.dev/gpu-memory-usable-mib\",\"operator\":\"NotIn\",\"values\":[\"4200\"]}");
    assertThat(warnings(mutation)).noneMatch(w -> w.contains("is not the same share"));
    // Nor does such a node have pods denied that fit on the others.
    JsonNode most =
        apply(
            mutate("14Gi", honest, usable("b", 15109), usable("liar", 1)),
            annotated("gpu-memory", "14Gi"));
    assertThat(replicas(most)).isEqualTo("10");
    // Nor is more usable than there is.
    assertThat(denial(mutate("16Gi", honest, usable("liar", 1 << 20)))).contains("has 15360Mi");
  }

  private static GpuNode usable(String name, int usableMib) {
    var labels = new HashMap<>(T4.labels());
    labels.put("tranche.dev/gpu-memory-usable-mib", "" + usableMib);
    return Reviews.node(name, labels);
  }

  @Test
  void modelsOnWhichTheShareIsTheSame_areAllAllowed() {
    JsonNode after = apply(mutate("1Gi", T4, node("x", 15109, 10)), annotated("gpu-memory", "1Gi"));
    assertThat(expressions(after)).singleElement().asString().contains("[\"15109\",\"15360\"]");
  }

  @Test
  void gpusThatAreTooSmall_andNodesThatDoNotSay_areLeftOut() {
    var silent = Reviews.node("s", "tranche.dev/replicas-per-gpu", "10");
    Mutation mutation = mutate("40Gi", T4, A100, silent);
    JsonNode after = apply(mutation, annotated("gpu-memory", "40Gi"));
    assertThat(replicas(after)).isEqualTo("6");
    assertThat(expressions(after)).singleElement().asString().contains("[\"81920\"]");
  }

  @Test
  void largeGpus_ofAnotherCut_areFound() {
    JsonNode after =
        apply(mutate("40Gi", T4, node("a100", 81920, 4)), annotated("gpu-memory", "40Gi"));
    assertThat(replicas(after)).isEqualTo("3");
    assertThat(annotation(after, "replicas-per-gpu")).isEqualTo("4");
  }

  @Test
  void moreThanAnyGpuHas_isDenied_withWhatThereIs() {
    assertThat(denial(mutate("80Gi", T4, A100)))
        .contains("requests 80Gi of one GPU's memory")
        .contains("has 81280Mi");
  }

  @Test
  void withoutNodes_theDefaultDecides_orThePodIsDenied() {
    assertThat(denial(mutate("4Gi"))).contains("(label nvidia.com/gpu.memory)");
    var memory = new MutationRules.Memory(1L << 30, 11L << 30, Reviews.MEMORY.limits());
    var rules = Reviews.rules(List.of(GPU), 10, "", "", memory);
    ObjectNode asking = annotated("gpu-memory", "4Gi");
    JsonNode after = apply(new PodMutator(rules).mutate(asking, cluster()), asking);
    assertThat(replicas(after)).isEqualTo("4");
    assertThat(expressions(after)).isEmpty();
  }

  @Test
  void anyMemory_ofAnyGpu_isGrantedInFull_andByLessThanOneReplicaMore() {
    for (long seed : Seeds.of(200)) {
      RandomGenerator random = Seeds.random(seed);
      int cut = random.nextInt(1, 101);
      int totalMib = random.nextInt(2_000, 200_000);
      int usableMib = totalMib - 640;
      long kib = random.nextLong(1_024, usableMib * 1_024L + 1);
      ObjectNode asking = annotated("gpu-memory", kib + "Ki");
      JsonNode after = apply(mutator.mutate(asking, cluster(node("n", totalMib, cut))), asking);
      BigInteger granted = times(Long.parseLong(replicas(after)), usableMib * 1_024L);
      BigInteger wanted = times(kib, cut);
      assertThat(granted.subtract(wanted))
          .as("seed %d, %d Ki of %d MiB cut into %d", seed, kib, usableMib, cut)
          .isBetween(BigInteger.ZERO, BigInteger.valueOf(usableMib * 1_024L - 1));
    }
  }

  private static BigInteger times(long a, long b) {
    return BigInteger.valueOf(a).multiply(BigInteger.valueOf(b));
  }

  private Mutation mutate(String memory, GpuNode... nodes) {
    return mutator.mutate(annotated("gpu-memory", memory), cluster(nodes));
  }

  private static GpuNode node(String name, int totalMib, int replicas) {
    return Reviews.node(
        name,
        "tranche.dev/replicas-per-gpu",
        "" + replicas,
        "nvidia.com/gpu.memory",
        "" + totalMib);
  }
}
