package dev.tranche.webhook.request;

import static dev.tranche.webhook.Reviews.annotated;
import static dev.tranche.webhook.Reviews.annotation;
import static dev.tranche.webhook.Reviews.apply;
import static dev.tranche.webhook.Reviews.denial;
import static dev.tranche.webhook.Reviews.warnings;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.pod.Mutation;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which container an annotation speaks of that names none. */
class GpuContainerTest {
  private static final MutationRules.Cluster EMPTY = Reviews.cluster();

  private final PodMutator mutator = new PodMutator(Reviews.RULES);

  /** Where a number counts GPUs. */
  private final PodMutator gpus =
      new PodMutator(Reviews.RULES.with(MutationRules.PlainRequests.GPUS, Set.of()));

  /** The extender counts by the container that is chosen here. */
  @Test
  void proxyInTheFirstPlace_doesNotHideHowManyGpusAreAskedFor() {
    ObjectNode pod = pod("istio-proxy", "app");
    annotate(pod, "tranche.dev/gpu-count", "2");
    var labels = Map.of("tranche.dev/replicas-per-gpu", "10", "nvidia.com/gpu.count", "1");
    var oneGpu = Reviews.cluster(Reviews.node("a", labels));
    assertThat(warnings(mutator.mutate(pod, oneGpu)))
        .anyMatch(w -> w.contains("requests 2 GPUs") && w.contains("more than 1"));
  }

  /** Where the number of GPUs says which container uses one, the number counts. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // A shipper of logs before the program.
        "filebeat, train+gpu | | train",
        // A mesh names the first container that is not its own.
        "istio-proxy, rclone, agent, mlserver+gpu | rclone | mlserver",
        // A file system that is mounted by an injected, privileged container.
        "fuse-mount+privileged, train+gpu | | train",
        "istio-proxy, app+gpu | | app",
        // A native sidecar that serves the model.
        "app, server+gpu+sidecar | | server",
        "app, server+gpu+sidecar | app | server",
        // A LimitRange writes numbers into all containers.
        "logs+gpu+sidecar+limit-range, main+gpu+limit-range | | main",
        "first, second+gpu+limit-range, third+gpu | | third",
      })
  void onlyContainerThatRequestsGpus_isChosen_withoutAWarning(
      String containers, String byDefault, String chosen) {
    ObjectNode pod = requesting(containers.split(", "));
    annotate(pod, GpuContainer.DEFAULT_CONTAINER, byDefault);
    Mutation mutation = gpus.mutate(pod, EMPTY);
    JsonNode after = apply(mutation, pod);
    assertThat(annotation(after, "gpu-container")).isEqualTo(chosen);
    assertThat(granted(after)).containsEntry(chosen, "5");
    assertThat(warnings(mutation)).noneMatch(w -> w.contains("gets this pod's share"));
    assertThat(gpus.mutate(after, EMPTY)).matches(Reviews::changesNothing);
    assertThat(warnings(mutation).stream().filter(w -> w.contains("LimitRange")).count())
        .as("a container with a number from a LimitRange alone")
        .isEqualTo(containers.contains("limit-range") ? 1 : 0);
    assertThat(denial(mutator.mutate(pod, EMPTY)))
        .as("where a number counts replicas, 1 is not the share")
        .contains("container \"%s\" requests nvidia.com/gpu: 1".formatted(chosen));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "istio-proxy, app | | app | container istio-proxy before it is added by a webhook",
        "gke-gcsfuse-sidecar, app | | app | added by a webhook",
        "app, istio-proxy | | app | ",
        "istio-proxy | | istio-proxy | ",
        // Istio writes the annotation for every pod, so it need not be what the owner meant.
        "log-shipper, app | app | app | service mesh",
        "istio-proxy, app | istio-proxy | app | added by a webhook",
        "istio-proxy, app | none-of-them | app | added by a webhook",
        "app, helper | | app | first of 2 containers",
        "a, b+gpu, c+gpu | c | c | default-container names it",
        "a, b+gpu, c+gpu | a | b | first of 2 containers",
        "a, b+gpu, c+gpu+sidecar | | c | first of 2 containers",
        "fuse+privileged, a | | a | container fuse before it is privileged",
        "fluid-fuse-0, a | | a | added by a webhook",
        "a, init+gpu+init | | a | ",
        "a, b+gpu, c | c | b | ",
      })
  void severalOrNone_followTheDefaultContainer_thenTheFirst(
      String containers, String byDefault, String chosen, String said) {
    ObjectNode pod = requesting(containers.split(", "));
    annotate(pod, GpuContainer.DEFAULT_CONTAINER, byDefault);
    Mutation mutation = gpus.mutate(pod, EMPTY);
    JsonNode after = apply(mutation, pod);
    assertThat(annotation(after, "gpu-container")).isEqualTo(chosen);
    assertThat(granted(after)).containsEntry(chosen, "5");
    assertThat(warnings(mutation).stream().filter(w -> w.contains("gets this pod's share")))
        .as(said)
        .allMatch(w -> said != null && w.contains(said))
        .hasSize(said == null ? 0 : 1);
  }

  /** Its own annotation says what it gets, so the share without a name is another container's. */
  @Test
  void containerWithAShareOfItsOwn_isNotTheOneWithoutAName() {
    ObjectNode pod = requesting("main", "side+gpu");
    annotate(pod, "tranche.dev/gpu-fraction.side", "0.2");
    assertThat(granted(apply(gpus.mutate(pod, EMPTY), pod)))
        .isEqualTo(Map.of("main", "5", "side", "2"));
  }

  @Test
  void gpuContainer_beatsTheDefaultContainer() {
    ObjectNode pod = pod("main", "app");
    annotate(pod, GpuContainer.DEFAULT_CONTAINER, "app");
    annotate(pod, "tranche.dev/gpu-container", "main");
    assertThat(granted(apply(mutator.mutate(pod, EMPTY), pod))).isEqualTo(Map.of("main", "5"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"istio-proxy", "somebody-elses-sidecar"})
  void containerAddedInTheFirstPlaceAfterUs_changesNothing(String added) {
    JsonNode once = apply(mutator.mutate(pod("app"), EMPTY), pod("app"));
    assertThat(annotation(once, "gpu-container")).isEqualTo("app");
    ((ArrayNode) once.at("/spec/containers")).insertObject(0).put("name", added);
    assertThat(mutator.mutate(once, EMPTY)).isEqualTo(Mutation.UNCHANGED);
  }

  /** As an earlier release left it: the replicas say which. */
  @Test
  void podStampedWithoutAContainer_isNotGrantedTwice() {
    ObjectNode pod = pod("added", "app");
    annotate(pod, "tranche.dev/replicas-per-gpu", "10");
    pod.withObject("/spec/containers/1")
        .putObject("resources")
        .putObject("limits")
        .put("nvidia.com/gpu", "5");
    JsonNode after = apply(mutator.mutate(pod, EMPTY), pod);
    assertThat(granted(after)).isEqualTo(Map.of("app", "5"));
    assertThat(annotation(after, "gpu-container")).isEqualTo("app");
  }

  @Test
  void shareThatNamesItsContainer_isStampedWithNone() {
    ObjectNode pod = annotated("gpu-fraction.main", "0.5");
    assertThat(annotation(apply(mutator.mutate(pod, EMPTY), pod), "gpu-container")).isEmpty();
  }

  private static ObjectNode pod(String... containers) {
    ObjectNode pod = annotated("gpu-fraction", "0.5");
    ArrayNode list = pod.withObject("/spec").putArray("containers");
    for (String name : containers) {
      list.addObject().put("name", name);
    }
    return pod;
  }

  /** Containers with what they have, such as {@code server+gpu+sidecar}. */
  private static ObjectNode requesting(String... containers) {
    ObjectNode pod = pod();
    ObjectNode spec = (ObjectNode) pod.path("spec");
    for (String each : containers) {
      List<String> parts = List.of(each.split("\\+"));
      String list =
          parts.contains("sidecar") || parts.contains("init") ? "initContainers" : "containers";
      ObjectNode container = spec.withArray(list).addObject().put("name", parts.getFirst());
      if (parts.contains("sidecar")) {
        container.put("restartPolicy", "Always");
      }
      if (parts.contains("privileged")) {
        container.putObject("securityContext").put("privileged", true);
      }
      if (parts.contains("gpu")) {
        container.putObject("resources").putObject("limits").put("nvidia.com/gpu", "1");
      }
      if (parts.contains("limit-range")) {
        String key = "kubernetes.io/limit-ranger";
        String of = parts.contains("sidecar") ? "init container " : "container ";
        String before = pod.at("/metadata/annotations").path(key).asText("LimitRanger plugin set");
        String separator = before.contains(":") ? "; " : ": ";
        annotate(
            pod, key, before + separator + "nvidia.com/gpu limit for " + of + parts.getFirst());
      }
    }
    return pod;
  }

  private static void annotate(ObjectNode pod, String key, @Nullable String value) {
    if (value != null) {
      pod.withObject("/metadata/annotations").put(key, value);
    }
  }

  private static Map<String, String> granted(JsonNode pod) {
    var granted = new TreeMap<String, String>();
    for (String list : List.of("initContainers", "containers")) {
      for (JsonNode container : pod.path("spec").path(list)) {
        JsonNode replicas = container.at("/resources/limits").path("nvidia.com/gpu");
        if (!replicas.isMissingNode()) {
          granted.put(container.path("name").asText(), replicas.asText());
        }
      }
    }
    return granted;
  }
}
