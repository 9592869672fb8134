package dev.tranche.webhook;

import static dev.tranche.webhook.Reviews.annotated;
import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.cluster;
import static dev.tranche.webhook.Reviews.denial;
import static dev.tranche.webhook.Reviews.pod;
import static dev.tranche.webhook.Reviews.replicas;
import static dev.tranche.webhook.Reviews.warnings;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Demand;
import dev.tranche.webhook.compat.SharingSystem;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.MutationRules.PlainRequests;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Mutation;
import java.util.HashMap;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What {@code nvidia.com/gpu: N} means without an annotation. */
public class PlainRequestsTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final MutationRules.Cluster EMPTY = Reviews.cluster();

  private final PodMutator whole = new PodMutator(rules(PlainRequests.GPUS));

  public static MutationRules rules(PlainRequests plain) {
    return Reviews.rules(List.of(GPU, "nvidia.com/mig-1g.5gb"), 10, "tranche-scheduler", "nvidia")
        .with(plain, Set.of(SharingSystem.values()));
  }

  @Test
  void number_isOneOfGpus_stampedAndWarnedAboutOnce() {
    ObjectNode asking = asking(2);
    Mutation mutation = whole.mutate(asking, EMPTY);
    JsonNode after = apply(mutation, asking);
    assertThat(replicas(after)).isEqualTo("20");
    assertThat(annotation(after, "gpus-requested")).isEqualTo("main=2");
    assertThat(annotation(after, "replicas-per-gpu")).isEqualTo("10");
    assertThat(warnings(mutation)).singleElement().asString().contains("2 whole GPUs");
    assertThat(whole.mutate(after, EMPTY)).isEqualTo(Mutation.UNCHANGED);
  }

  /** Kubernetes refuses it too, but would only read the whole number that is written instead. */
  @Test
  void partOfAGpu_isDenied_whereNumbersCountGpus_andLeftToKubernetesElsewhere() {
    ObjectNode part = asking(1);
    part.withObject("/spec/containers/0/resources/limits").put(GPU, "300m");
    assertThat(denial(whole.mutate(part, EMPTY)))
        .contains("nvidia.com/gpu: 300m", "tranche.dev/gpu-fraction: \"0.3\"");
    ObjectNode foreign = part.deepCopy();
    foreign.withObject("/spec").put("schedulerName", "volcano");
    assertThat(denial(whole.mutate(foreign, EMPTY))).contains("300m");
    var mutator = new PodMutator(rules(PlainRequests.REPLICAS));
    JsonNode left = apply(mutator.mutate(part, EMPTY), part);
    assertThat(replicas(left)).isEqualTo("300m");
  }

  /** A webhook after ours has added a container that asks by number, too. */
  @Test
  void containerAddedLater_isMultiplied_andTheFirstIsNotAgain() {
    JsonNode once = apply(whole.mutate(asking(2), EMPTY), asking(2));
    ((ArrayNode) once.at("/spec/containers"))
        .insertObject(0)
        .put("name", "added")
        .putObject("resources")
        .putObject("limits")
        .put(GPU, "1");
    JsonNode after = apply(whole.mutate(once, EMPTY), once);
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(after.at("/spec/containers/1/resources/limits").path(GPU).asText()).isEqualTo("20");
    assertThat(annotation(after, "gpus-requested")).isEqualTo("added=1,main=2");
  }

  /** Spark, KubeRay and vLLM's production stack write the number of GPUs themselves. */
  @Test
  void numberBesideAShare_thatCountsItsGpus_isTheShare_whereNumbersCountGpus() {
    ObjectNode one = sharing(1, "gpu-fraction", "0.2");
    JsonNode after = apply(whole.mutate(one, EMPTY), one);
    assertThat(replicas(after)).isEqualTo("2");
    assertThat(after.path("metadata").path("annotations").has("tranche.dev/gpus-requested"))
        .isFalse();
    assertThat(whole.mutate(after, EMPTY)).matches(Reviews::changesNothing);
    ObjectNode two = sharing(2, "gpu-fraction", "0.2", "gpu-count", "2");
    assertThat(replicas(apply(whole.mutate(two, EMPTY), two))).isEqualTo("4");
    assertThat(denial(whole.mutate(sharing(3, "gpu-fraction", "0.2"), EMPTY))).contains("0.2");
    var mutator = new PodMutator(rules(PlainRequests.REPLICAS));
    assertThat(denial(mutator.mutate(one, EMPTY))).contains("remove the request");
  }

  private static ObjectNode sharing(int number, String... annotations) {
    ObjectNode pod = annotated(annotations);
    pod.set("spec", asking(number).path("spec"));
    return pod;
  }

  /** An injector of checks copies the request of the first container into an init container. */
  @Test
  void replicasThatAnInjectorHasCopied_areReplicas() {
    for (ObjectNode pod : List.of(annotated("gpu-fraction", "0.3"), asking(1))) {
      JsonNode once = apply(whole.mutate(pod, EMPTY), pod);
      String replicas = replicas(once);
      once.withObject("/spec")
          .putArray("initContainers")
          .addObject()
          .put("name", "preflight")
          .set("resources", once.at("/spec/containers/0/resources").deepCopy());
      JsonNode after = apply(whole.mutate(once, EMPTY), once);
      assertThat(replicas(after)).isEqualTo(replicas);
      assertThat(after.at("/spec/initContainers/0/resources/limits").path(GPU).asText())
          .isEqualTo(replicas);
      assertThat(whole.mutate(after, EMPTY)).matches(Reviews::changesNothing);
    }
  }

  @Test
  void initContainerOnTheSameWholeGpus_isOrdinary_andOneOnOthersIsNot() {
    ObjectNode pod = asking(2);
    ObjectNode limits =
        pod.withObject("/spec")
            .putArray("initContainers")
            .addObject()
            .put("name", "preflight")
            .putObject("resources")
            .putObject("limits");
    limits.put(GPU, "2");
    JsonNode after = apply(whole.mutate(pod, EMPTY), pod);
    assertThat(replicas(after)).isEqualTo("20");
    assertThat(after.at("/spec/initContainers/0/resources/limits").path(GPU).asText())
        .isEqualTo("20");
    assertThat(whole.mutate(after, EMPTY)).matches(Reviews::changesNothing);
    limits.put(GPU, "1");
    assertThat(denial(whole.mutate(pod, EMPTY)))
        .contains("init container \"preflight\"", "the kubelet passes it on", "need several GPUs");
  }

  /** The kubelet would give the first of them the init container's GPU, and ask for the second. */
  @Test
  void twoContainersWithAGpu_behindAnInjectedCheckWithOne_areDeniedWithTheReason() {
    ObjectNode pod = asking(1);
    JsonNode resources = pod.at("/spec/containers/0/resources");
    pod.withArray("/spec/containers").addObject().put("name", "second").set("resources", resources);
    pod.withArray("/spec/initContainers")
        .addObject()
        .put("name", "preflight")
        .set("resources", resources.deepCopy());
    assertThat(denial(whole.mutate(pod, EMPTY)))
        .contains("init container \"preflight\"", "need 20 replicas at the same time");
  }

  /** Whoever writes our stamp by hand gets what the request says. */
  @Test
  void stampOfTheUser_isNotBelieved() {
    ObjectNode asking = asking(1);
    asking
        .withObject("/metadata/annotations")
        .put("tranche.dev/gpus-requested", "main=8")
        .put("tranche.dev/replicas-per-gpu", "10");
    JsonNode after = apply(whole.mutate(asking, EMPTY), asking);
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(annotation(after, "gpus-requested")).isEqualTo("main=1");
  }

  @Test
  void shareBesideANumber_eachKeepsItsMeaning() {
    ObjectNode asking = annotated("gpu-fraction.side", "0.5", "gpu-count", "2");
    asking.set("spec", asking(1).path("spec"));
    ((ArrayNode) asking.at("/spec/containers")).addObject().put("name", "side");
    JsonNode after = apply(whole.mutate(asking, EMPTY), asking);
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(after.at("/spec/containers/1/resources/limits").path(GPU).asText()).isEqualTo("10");
    var annotations = new HashMap<String, String>();
    after.at("/metadata/annotations").forEachEntry((k, v) -> annotations.put(k, v.asText()));
    var requests =
        List.of(
            new Demand.Request("main", Demand.Kind.APP, 10),
            new Demand.Request("side", Demand.Kind.APP, 10));
    assertThat(Demand.of(GPU, 10, requests, annotations).containers())
        .extracting(c -> c.eachShare().boxed().toList())
        .containsExactly(List.of(10), List.of(5, 5));
    assertThat(whole.mutate(after, EMPTY)).matches(Reviews::changesNothing);
  }

  @Test
  void privilegedPod_andOneOfMoreGpusThanThereAre_comeInAsBefore() {
    ObjectNode asking = asking(16);
    asking.withObject("/spec/containers/0").putObject("securityContext").put("privileged", true);
    assertThat(denial(whole.mutate(asking, cluster(node("a", 10))))).isEqualTo("not denied");
  }

  @Test
  void nodeNamePastTheScheduler_isCutAsThatNode_ifItIsOurs() {
    ObjectNode asking = asking(1);
    asking.withObject("/spec").put("nodeName", "b");
    var cluster = cluster(node("a", 10), node("b", 4));
    assertThat(replicas(apply(whole.mutate(asking, cluster), asking))).isEqualTo("4");
  }

  @Test
  void podOnANodeThatIsNotOurs_isLeftAloneEntirely() {
    for (PlainRequests plain : PlainRequests.values()) {
      ObjectNode asking = asking(1);
      asking.withObject("/spec").put("nodeName", "unknown");
      assertThat(new PodMutator(rules(plain)).mutate(asking, cluster(node("a", 10))))
          .isEqualTo(Mutation.UNCHANGED);
    }
  }

  /** JupyterHub's user scheduler packs users' pods, for example. */
  @Test
  void numberOfAnotherSchedulersPod_countsGpusToo_andTheSchedulerStays() {
    ObjectNode asking = asking(1);
    asking.withObject("/spec").put("schedulerName", "hub-user-scheduler");
    Mutation mutation = whole.mutate(asking, EMPTY);
    JsonNode after = apply(mutation, asking);
    assertThat(replicas(after)).isEqualTo("10");
    assertThat(annotation(after, "gpus-requested")).isEqualTo("main=1");
    assertThat(after.at("/spec/schedulerName").asText()).isEqualTo("hub-user-scheduler");
    assertThat(after.path("spec").has("runtimeClassName")).isFalse();
    assertThat(warnings(mutation)).singleElement().asString().contains("1 whole GPUs");
    assertThat(whole.mutate(after, EMPTY)).isEqualTo(Mutation.UNCHANGED);
  }

  @Test
  void otherResources_keepTheirNumber() {
    ObjectNode asking = asking(1);
    ObjectNode limits = (ObjectNode) asking.at("/spec/containers/0/resources/limits");
    limits.removeAll();
    limits.put("nvidia.com/mig-1g.5gb", "2");
    JsonNode after = apply(whole.mutate(asking, EMPTY), asking);
    assertThat(after.at("/spec/containers/0/resources/limits").path("nvidia.com/mig-1g.5gb"))
        .hasToString("\"2\"");
  }

  private static ObjectNode asking(int gpus) {
    ObjectNode pod = annotated();
    ((ObjectNode) pod.path("metadata")).remove("annotations");
    pod.withObject("/spec/containers/0")
        .putObject("resources")
        .putObject("limits")
        .put(GPU, String.valueOf(gpus));
    return pod;
  }

  private static GpuNode node(String name, int replicas) {
    return Reviews.node(
        name, "tranche.dev/replicas-per-gpu", "" + replicas, "nvidia.com/gpu.count", "8");
  }
}
