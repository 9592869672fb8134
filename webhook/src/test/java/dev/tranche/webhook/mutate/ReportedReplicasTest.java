package dev.tranche.webhook.mutate;

import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.pod;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.nodes.NodeSelection;
import dev.tranche.webhook.nodes.Taints;
import dev.tranche.webhook.pod.Added;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.OwnersPod;
import dev.tranche.webhook.pod.PodView;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Two programs label a node with its replicas per GPU, and the node plugin's report decides. */
final class ReportedReplicasTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final String OURS = "tranche.dev/replicas-per-gpu";
  private static final String NVIDIAS = "nvidia.com/gpu.replicas";
  private static final String REQUIRED =
      "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";

  /** What GPU Feature Discovery writes without a config. */
  private static final Map<String, String> DISCOVERED =
      Map.of(
          NVIDIAS,
          "1",
          "nvidia.com/gpu.sharing-strategy",
          "none",
          "nvidia.com/gpu.product",
          "Tesla-T4",
          "nvidia.com/gpu.count",
          "1",
          "nvidia.com/cuda.driver.major",
          "580");

  private final PodMutator mutator = mutator(4);

  private static PodMutator mutator(int defaultReplicas) {
    return new PodMutator(
        Reviews.rules(List.of(GPU), defaultReplicas, "tranche-scheduler", "nvidia"));
  }

  private static GpuNode node(String name, Map<String, String> labels, String... more) {
    return node(name, Map.of(), labels, more);
  }

  private static GpuNode node(
      String name, Map<String, Long> capacity, Map<String, String> labels, String... more) {
    var all = new HashMap<>(labels);
    for (int i = 0; i < more.length; i += 2) {
      all.put(more[i], more[i + 1]);
    }
    return new GpuNode(name, all, capacity, Taints.NONE);
  }

  private static MutationRules.Cluster cluster(GpuNode... nodes) {
    return new MutationRules.Cluster(List.of(nodes), true);
  }

  private static ObjectNode half() {
    return Reviews.annotated("gpu-fraction", "0.5");
  }

  private JsonNode admitted(GpuNode... nodes) {
    return apply(mutator.mutate(half(), cluster(nodes)), half());
  }

  private static String replicasPerGpu(JsonNode pod) {
    return pod.path("metadata").path("annotations").path(OURS).asText();
  }

  @Test
  void shareOnANode_thatDiscoveryLabelsByAnotherConfig_isSizedByTheReport() {
    JsonNode after = admitted(node("a", DISCOVERED, OURS, "10"));
    assertThat(replicasPerGpu(after)).isEqualTo("10");
    assertThat(after.at("/spec/containers/0/resources/limits/nvidia.com~1gpu").asText())
        .isEqualTo("5");
  }

  @Test
  void reportThatIsNoNumber_isNotReplacedByDiscoverysNumber() {
    assertThat(replicasPerGpu(admitted(node("a", DISCOVERED, OURS, "ten")))).isEqualTo("4");
  }

  @Test
  void nodeWithoutAReport_isNotSizedByDiscovery_whichLabelsForeignNodesToo() {
    assertThat(replicasPerGpu(admitted(node("a", DISCOVERED)))).isEqualTo("4");
    GpuNode offering = node("a", Map.of(GPU, 10L), DISCOVERED, NVIDIAS, "10");
    assertThat(replicasPerGpu(admitted(offering))).isEqualTo("4");
    assertThat(offering.isForeign()).isTrue();
    assertThat(node("a", Map.of(GPU, 10L), DISCOVERED, OURS, "10").isForeign()).isFalse();
  }

  @Test
  void nodeOfAnOldExtender_orOfATemplate_isSizedByNvidiasLabel() {
    assertThat(replicasPerGpu(admitted(node("a", Map.of(NVIDIAS, "10"))))).isEqualTo("10");
  }

  @Test
  void nodesOfSeveralNumbers_areToldApartByWhatDecidesOnEach() {
    var ten = node("ten", DISCOVERED, OURS, "10");
    var alsoTen = node("also-ten", Map.of(NVIDIAS, "10"));
    var five = node("five", DISCOVERED, OURS, "5", NVIDIAS, "10");
    var whole = node("whole", DISCOVERED, OURS, "1");
    JsonNode after = admitted(ten, alsoTen, five, whole);
    assertThat(replicasPerGpu(after)).isEqualTo("10");
    var selection = new NodeSelection(after.path("spec"));
    assertThat(List.of(ten, alsoTen)).allMatch(selection::admits);
    assertThat(List.of(five, whole, node("unlabelled", Map.of()), node("new", DISCOVERED)))
        .noneMatch(selection::admits);
    assertThat(mutator.mutate(after, cluster(ten, alsoTen, five, whole)))
        .isInstanceOf(Mutation.Unchanged.class);
    // As the API server stores it.
    assertThat(after.at(REQUIRED).findValues("values"))
        .allSatisfy(values -> assertThat(values).isNotEmpty());
  }

  @Test
  void eachOfTheUsersTerms_becomesTwo_andAnEmptyOneStaysEmpty() {
    ObjectNode pod = half();
    ((ObjectNode) pod.path("spec")).set("affinity", affinity(zone("x"), zone("y"), "{}"));
    var x10 = node("x10", DISCOVERED, OURS, "10", "zone", "x");
    var y10 = node("y10", Map.of(NVIDIAS, "10"), "zone", "y");
    var y5 = node("y5", DISCOVERED, OURS, "5", "zone", "y");
    JsonNode after = apply(mutator.mutate(pod, cluster(x10, y10, y5)), pod);
    assertThat(after.at(REQUIRED)).hasSize(5);
    var selection = new NodeSelection(after.path("spec"));
    assertThat(List.of(x10, y10)).allMatch(selection::admits);
    assertThat(List.of(y5, node("z", DISCOVERED, OURS, "10", "zone", "z")))
        .noneMatch(selection::admits);
  }

  /** Twice as many could not be admitted again. */
  @Test
  void manyTerms_areNotDoubled() {
    ObjectNode pod = half();
    String[] terms = new String[40];
    java.util.Arrays.setAll(terms, i -> zone("z" + i));
    ((ObjectNode) pod.path("spec")).set("affinity", affinity(terms));
    assertNotDoubled(pod, 40);
  }

  @Test
  void termThatWouldBeTooLargeTwice_isNotDoubled() {
    ObjectNode pod = half();
    String names =
        IntStream.range(0, 4_100).mapToObj("'n%d'"::formatted).collect(Collectors.joining(","));
    String term = "{'key':'zone','operator':'In','values':['z1',%s]}".formatted(names);
    ((ObjectNode) pod.path("spec")).set("affinity", affinity(term(term)));
    assertNotDoubled(pod, 1);
  }

  /** The pod keeps its terms, and only nodes with the replicas of most are left. */
  private void assertNotDoubled(ObjectNode pod, int terms) {
    var ten = node("ten", DISCOVERED, OURS, "10", "zone", "z1");
    var alsoTen = node("also-ten", DISCOVERED, OURS, "10", "zone", "z1");
    var five = node("five", DISCOVERED, OURS, "5", "zone", "z1");
    JsonNode after = apply(mutator.mutate(pod, cluster(ten, alsoTen, five)), pod);
    assertThat(after.at(REQUIRED)).hasSize(terms);
    assertThat(new NodeSelection(after.path("spec")).admits(ten)).isTrue();
    assertThat(new NodeSelection(after.path("spec")).admits(five)).isFalse();
    assertThat(mutator.mutate(after, cluster(ten, alsoTen, five)))
        .isInstanceOf(Mutation.Unchanged.class);
  }

  @Test
  void hostPid_isKeptOff_whereTheReportSaysMps_andDiscoverySaysNone() {
    ObjectNode pod = half();
    pod.withObject("/spec").put("hostPID", true);
    var mps = node("m", DISCOVERED, OURS, "10", "tranche.dev/sharing-strategy", "mps");
    var other = node("t", DISCOVERED, OURS, "10", "tranche.dev/sharing-strategy", "time-slicing");
    JsonNode after = apply(mutator.mutate(pod, cluster(mps, other)), pod);
    assertThat(new NodeSelection(after.path("spec")).admits(mps)).isFalse();
    assertThat(new NodeSelection(after.path("spec")).admits(other)).isTrue();
  }

  /** The annotation says which requirements are ours: the others are the owner's. */
  @Test
  void ownersPod_isWithoutWhatTheWebhookHasAdded() {
    String none = "{'key':'%s','operator':'DoesNotExist'}".formatted(OURS);
    assertThat(
            owners(
                term(in("zone", "x"), in(OURS, "10")),
                term(in("zone", "x"), none, in(NVIDIAS, "10"))))
        .as("both alternatives become one again")
        .isEqualTo(array(zone("x")));
    assertThat(owners(term(in(OURS, "10")), term(none, in(NVIDIAS, "10"))).isMissingNode())
        .isTrue();
    assertThat(owners(term(in(OURS, "10")), term(in("zone", "x"), in(OURS, "10"))).isMissingNode())
        .as("terms are alternatives, and an empty one admits no node")
        .isTrue();
    assertThat(owners(term(in(OURS, "5")))).isEqualTo(array(term(in(OURS, "5"))));
  }

  /** An update's pod is read without the limits of a new one. */
  @Test
  void longAnnotationOfWhatWasAdded_isNotRead() {
    String none = "{\"schedulerName\":\"x\",\"y\":[%s[]]}".formatted("[],".repeat(30_000));
    assertThat(Added.of(new PodView(Reviews.annotated("webhook-added", none))))
        .isEqualTo(Added.NOTHING);
  }

  private static JsonNode owners(String... terms) {
    ObjectNode pod = pod("deployment").deepCopy();
    String none = "{'key':'%s','operator':'DoesNotExist'}".formatted(OURS);
    String added = String.join(",", in(OURS, "10"), none, in(NVIDIAS, "10"));
    pod.withObject("/metadata/annotations")
        .put(
            "tranche.dev/webhook-added",
            "{'requirements':[%s]}".formatted(added).replace('\'', '"'));
    ((ObjectNode) pod.path("spec")).set("affinity", affinity(terms));
    var arrived = new PodView(pod);
    return OwnersPod.of(arrived, Added.of(arrived), "nvidia.com/gpu", label -> true)
        .pod()
        .pod()
        .at(REQUIRED);
  }

  private static String in(String label, String value) {
    return "{'key':'%s','operator':'In','values':['%s']}".formatted(label, value);
  }

  private static String term(String... expressions) {
    return "{'matchExpressions':[%s]}".formatted(String.join(",", expressions));
  }

  private static String zone(String zone) {
    return term(in("zone", zone));
  }

  private static ArrayNode array(String... terms) {
    return (ArrayNode) Reviews.json("[%s]".formatted(String.join(",", terms)).replace('\'', '"'));
  }

  private static JsonNode affinity(String... terms) {
    ObjectNode affinity = (ObjectNode) Reviews.json("{}");
    affinity
        .putObject("nodeAffinity")
        .putObject("requiredDuringSchedulingIgnoredDuringExecution")
        .set("nodeSelectorTerms", array(terms));
    return affinity;
  }
}
