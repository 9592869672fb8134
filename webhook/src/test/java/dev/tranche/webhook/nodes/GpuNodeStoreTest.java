package dev.tranche.webhook.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.GrantedGpus;
import dev.tranche.api.Taint;
import dev.tranche.process.Heap;
import dev.tranche.process.meters.Failures;
import dev.tranche.webhook.PlainRequestsTest;
import dev.tranche.webhook.Reviews;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.PodMutator;
import io.fabric8.kubernetes.api.model.ContainerImage;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class GpuNodeStoreTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final Map<String, String> OFFERED = Map.of(GPU, "1");

  private Instant now = Instant.parse("2026-11-23T20:14:31Z");
  private boolean listed = true;
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final GpuNodeStore store =
      new GpuNodeStore(
          List.of(GPU),
          new Failures(new WebhookMetrics(registry), "Help", Failures.NODE),
          () -> listed,
          () -> now);

  private static Node node(Map<String, String> labels, Map<String, String> allocatable) {
    var quantities = new HashMap<String, Quantity>();
    allocatable.forEach((name, count) -> quantities.put(name, new Quantity(count)));
    return new NodeBuilder()
        .withNewMetadata()
        .withName("n")
        .withLabels(labels)
        .endMetadata()
        .withNewStatus()
        .withAllocatable(quantities)
        .endStatus()
        .build();
  }

  @Test
  void node_isKeptWithoutWhatNobodyReads() {
    Node full =
        ClusterWatch.serialization()
            .unmarshal(
                """
                {"apiVersion":"v1","kind":"Node",
                 "metadata":{"name":"n","labels":{"tranche.dev/replicas-per-gpu":"10"},"annotations":{"long":"text",
                   "tranche.dev/gpu-use":"0.5 of 2 GPUs granted, 24 GiB memory, as of 2026-11-23T20:14:31Z"}},
                 "spec":{"podCIDR":"10.0.0.0/24","unschedulable":true,
                   "taints":[{"key":"team","value":"x","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"}]},
                 "status":{"capacity":{"cpu":"8","nvidia.com/gpu":"20"},"images":[{"sizeBytes":1}]}}
                """,
                Node.class);
    store.put("n", full);
    assertThat(store.get("n")).isEqualTo(named("n"));
    GpuNode kept = store.nodes().findAny().orElseThrow();
    assertThat(kept.labels()).containsOnlyKeys("tranche.dev/replicas-per-gpu");
    assertThat(kept.offers(GPU)).isTrue();
    assertThat(store.resources("n")).containsExactly(GPU);
    assertThat(store.granted("n").map(GrantedGpus.Written::granted))
        .contains(new GrantedGpus(5, 2, 15, 10, 10));
    assertThat(kept.taints().list())
        .containsExactly(new Taint("team", "x", "NoSchedule"), Taint.UNSCHEDULABLE);
  }

  private static Node named(String name) {
    return new NodeBuilder().withNewMetadata().withName(name).endMetadata().build();
  }

  @Test
  void nodeThatCannotBeRead_isLeftOut_andAllOthersCount() {
    store.put("n", node(Map.of(), OFFERED));
    store.put("n", node(Map.of(), Map.of(GPU, "many")));
    assertThat(store.nodes()).isEmpty();
    assertThat(registry.get("tranche.webhook.failures").tag("part", "node").counter().count())
        .isEqualTo(1);
  }

  @Test
  void nodeWithoutGpus_isNotKept() {
    for (var none : List.of(Map.of("cpu", "8"), Map.of(GPU, "0"))) {
      assertThat(store.put("n", node(Map.of("zone", "a"), none))).isNull();
      assertThat(store.size()).isZero();
    }
  }

  @Test
  void foreignNode_isKept_whileItOffersGpus_andALabelledOneBeforeItsPluginServes() {
    listed = false;
    store.put("n", node(Map.of("type", "virtual-kubelet"), OFFERED));
    assertThat(store.nodes()).singleElement().matches(GpuNode::isForeign);
    assertThat(store.put("n", node(Map.of(), Map.of()))).isNotNull();
    assertThat(store.size()).isZero();
    assertThat(store.nodes()).isEmpty();
    store.put("n", node(Map.of("tranche.dev/replicas-per-gpu", "10"), Map.of()));
    assertThat(store.nodes()).singleElement().matches(node -> !node.isForeign());
    store.remove("n");
    assertThat(store.nodes()).isEmpty();
  }

  /** The kubelet offers replicas before the extender has the first report, and labels the node. */
  @Test
  void nodeThatBeginsToOffer_awaitsItsLabelForTwoMinutes_andIsForeignThen() {
    store.put("n", node(Map.of(), OFFERED));
    assertThat(store.nodes()).isEmpty();
    now = now.plusSeconds(119);
    // Its plugin starts again.
    store.put("n", node(Map.of(), Map.of(GPU, "0")));
    store.put("n", node(Map.of(), OFFERED));
    assertThat(store.nodes()).isEmpty();
    now = now.plusSeconds(1);
    assertThat(store.nodes()).singleElement().matches(GpuNode::isForeign);
    store.remove("n");
    store.put("n", node(Map.of(), OFFERED));
    assertThat(store.nodes()).as("another node of that name").isEmpty();
  }

  @Test
  void nodeThatHasALabel_orIsInTheFirstList_awaitsNone() {
    for (String label : List.of("tranche.dev/replicas-per-gpu", "tranche.dev/gpus-served-by")) {
      store.put("n", node(Map.of(), OFFERED));
      store.put("n", node(Map.of(label, "dra"), OFFERED));
      assertThat(store.nodes()).hasSize(1);
      store.remove("n");
    }
    listed = false;
    store.put("n", node(Map.of(), OFFERED));
    assertThat(store.nodes()).hasSize(1);
  }

  /** Another plugin serves it from then on. */
  @Test
  void nodeThatLosesItsLabel_isForeignAtOnce() {
    store.put("n", node(Map.of("tranche.dev/replicas-per-gpu", "10"), OFFERED));
    store.put("n", node(Map.of(), OFFERED));
    assertThat(store.nodes()).singleElement().matches(GpuNode::isForeign);
  }

  @Test
  void clockThatIsSetBack_endsTheWait() {
    store.put("n", node(Map.of(), OFFERED));
    now = now.minusSeconds(3_600);
    assertThat(store.nodes()).singleElement().matches(GpuNode::isForeign);
  }

  /** As the API server sends them, with some 20 kB that nobody reads. */
  @Test
  void fiveThousandNodes_takeALittleMemory_andPodsAreSizedForThem() {
    listed = false;
    long before = Heap.usedBytes();
    for (int i = 0; i < 5_000; i++) {
      store.put("node-" + i, full(i));
    }
    assertThat(Heap.usedBytes() - before).isLessThan(12L << 20);
    assertThat(store.size()).isEqualTo(4_000);
    MutationRules.Cluster cluster = Reviews.cluster(store.nodes().toList());
    assertThat(cluster.nodes()).hasSize(3_000);
    assertThat(cluster.foreign()).hasSize(1_000);
    var mutator = new PodMutator(PlainRequestsTest.rules(MutationRules.PlainRequests.GPUS));
    ObjectNode memory = Reviews.annotated("gpu-memory", "4Gi");
    Reviews.selecting(memory, "zone", "zone-1");
    assertThat(Reviews.replicas(Reviews.apply(mutator.mutate(memory, cluster), memory)))
        .isEqualTo("3");
    assertThat(sized(mutator, cluster, "kubernetes.io/hostname", "node-0")).isEqualTo("10");
    assertThat(sized(mutator, cluster, "kubernetes.io/hostname", "node-1")).isEqualTo("4");
    assertThat(sized(mutator, cluster, "virtual", "yes")).as("left alone").isEqualTo("1");
    assertThat(sized(mutator, cluster, "kubernetes.io/hostname", "node-4")).isEqualTo("10");
  }

  private static String sized(
      PodMutator mutator, MutationRules.Cluster cluster, String label, String value) {
    ObjectNode pod = Reviews.selecting(Reviews.plain(1), label, value);
    return Reviews.replicas(Reviews.apply(mutator.mutate(pod, cluster), pod));
  }

  /** Of five nodes, three are Tranche's, one is foreign, and one has no GPU. */
  private static Node full(int number) {
    var labels = new HashMap<String, String>();
    labels.put("kubernetes.io/hostname", "node-" + number);
    labels.put("zone", "zone-" + number % 3);
    for (int i = 0; i < 30; i++) {
      labels.put("feature.node.kubernetes.io/cpu-cpuid." + i, "true");
    }
    int kind = number % 5;
    if (kind < 3) {
      labels.put("tranche.dev/replicas-per-gpu", kind == 1 ? "4" : "10");
      labels.put("nvidia.com/gpu.memory", "15360");
    } else if (kind == 3) {
      labels.put("virtual", "yes");
    }
    Map<String, Quantity> offered =
        kind == 4
            ? Map.of("cpu", new Quantity("64"))
            : Map.of("cpu", new Quantity("64"), GPU, new Quantity(kind == 3 ? "1" : "40"));
    List<ContainerImage> images =
        IntStream.range(0, 50)
            .mapToObj(
                i -> new ContainerImage(List.of("registry.example/image-" + number + "-" + i), 9L))
            .toList();
    return new NodeBuilder()
        .withNewMetadata()
        .withName("node-" + number)
        .withLabels(labels)
        .addToAnnotations("long", "x".repeat(8_000) + number)
        .endMetadata()
        .withNewSpec()
        .endSpec()
        .withNewStatus()
        .withCapacity(offered)
        .withAllocatable(offered)
        .withImages(images)
        .endStatus()
        .build();
  }
}
