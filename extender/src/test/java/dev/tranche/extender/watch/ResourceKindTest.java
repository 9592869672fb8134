package dev.tranche.extender.watch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.extender.ledger.PodFields;
import dev.tranche.extender.ledger.SchedulerVerdict;
import dev.tranche.extender.preempt.Budget;
import dev.tranche.extender.watch.PodGroupReader.PodGroup;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Two of the lists are as a real API server (1.34.4) sent them. */
final class ResourceKindTest {
  private static final List<String> RESOURCES = List.of("nvidia.com/gpu");
  private final ResourceKind<?, WatchedPod> pods = PodReader.kind(RESOURCES, false);
  private final List<RuntimeException> skipped = new ArrayList<>();

  private <T extends WatchedObject> List<T> read(ResourceKind<?, T> kind, InputStream body)
      throws IOException {
    var read = new ArrayList<T>();
    kind.page(body, read::add, skipped::add);
    return read;
  }

  private <T extends WatchedObject> T only(ResourceKind<?, T> kind, String object)
      throws IOException {
    return read(kind, body(list(object))).getFirst();
  }

  private static String list(String... objects) {
    return "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"17\","
        + "\"continue\":\"more\",\"remainingItemCount\":3},\"items\":["
        + String.join(",", objects)
        + "]}\n";
  }

  private static InputStream body(String text) {
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
  }

  private static InputStream recorded(String file) {
    return ResourceKindTest.class.getResourceAsStream(file);
  }

  @Test
  void podsOfAnApiServer_haveWhatDecisionsNeed() throws Exception {
    WatchedPod pod = read(pods, recorded("pods.json")).getFirst();
    assertThat(pod.key()).isEqualTo("fixtures/train");
    assertThat(pod.node()).isEqualTo("node-a");
    assertThat(pod.host().cpuMilli()).isEqualTo(50 + 1_500 + 250);
    var facts = pod.facts().orElseThrow();
    assertThat(facts.running()).isTrue();
    assertThat(facts.annotations()).hasSize(2).containsEntry("tranche.dev/gpu-fraction", "0.3");
    assertThat(facts.requests()).hasSize(2);
    assertThat(facts.preemption().priority()).isEqualTo(7);
    assertThat(facts.preemption().nominatedNode()).isEqualTo("node-z");
  }

  @Test
  void nodesOfAnApiServer_haveWhatDecisionsNeed() throws Exception {
    WatchedNode node = read(NodeReader.kind(RESOURCES), recorded("nodes.json")).getFirst();
    assertThat(node.facts().advertises()).isTrue();
    assertThat(node.facts().config()).isEqualTo("big");
    assertThat(node.facts().cordoned()).isEqualTo(Set.of("GPU-1", "GPU-2"));
    assertThat(node.labels()).containsOnlyKeys("nvidia.com/gpu.count");
    assertThat(node.traits().orElseThrow().labels())
        .containsEntry("nvidia.com/device-plugin.config", "big");
    assertThat(node.labelsAnnotation()).isEqualTo("nvidia.com/gpu.count=8");
  }

  @Test
  void metadataOfAList_namesItsVersionAndTheNextPage() throws Exception {
    assertThat(pods.page(body(list()), pod -> {}, skipped::add))
        .isEqualTo(new ResourceKind.Page("17", "more"));
    assertThatThrownBy(() -> read(pods, body("{\"items\":null}")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("no metadata");
  }

  @Test
  void budget_isReadWithItsSelector() throws Exception {
    String meta =
        "{\"metadata\":{\"name\":\"db\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"9\"}";
    String rest =
        """
        ,"spec":{"selector":{"matchLabels":{"app":"db"},
         "matchExpressions":[{"key":"tier","operator":"NotIn","values":["a","b"]}]}},
         "status":{"disruptedPods":{"gone":"2026-11-21T08:00:00Z"},"disruptionsAllowed":2}}
        """;
    var app = new Budget.Requirement("app", "In", Set.of("db"));
    var tier = new Budget.Requirement("tier", "NotIn", Set.of("a", "b"));
    assertThat(only(BudgetReader.kind(), meta + rest))
        .isEqualTo(
            new Watched<>(
                "ns/db", "u", new Budget("ns", "db", List.of(app, tier), 2, Set.of("gone"))));
    assertThat(only(BudgetReader.kind(), meta + "}").read().requirements())
        .containsExactly(BudgetReader.NO_POD);
  }

  @Test
  void podGroup_isReadWithItsRefusal() throws Exception {
    String meta = "{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\",\"uid\":\"u\"}";
    String rest =
        """
        ,"spec":{"schedulingPolicy":{"gang":{"minCount":4}}},
         "status":{"conditions":[
          {"type":"DisruptionTarget","status":"False","reason":"r","message":"other"},
          {"type":"PodGroupInitiallyScheduled","status":"False","reason":"Unschedulable","message":"m"}]}}
        """;
    assertThat(only(PodGroupReader.kind(), meta + rest))
        .isEqualTo(new Watched<>("ns/g", "u", new PodGroup(4, "Unschedulable\nm".hashCode())));
    String basic = ",\"spec\":{\"schedulingPolicy\":{\"basic\":{}}}}";
    assertThat(only(PodGroupReader.kind(), meta + basic))
        .isEqualTo(new Watched<>("ns/g", "u", new PodGroup(0, 0)));
  }

  @Test
  void groupOfAPod_isThatOfItsNamespace() throws Exception {
    assertThat(
            only(
                    pods,
                    """
                    {"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"nodeName":"node-a",
                     "schedulingGroup":{"podGroupName":"train"},"containers":[]}}
                    """)
                .group())
        .isEqualTo("ns/train");
  }

  @Test
  void refusalOfKubeScheduler_isReadUntilThePodIsBound() throws Exception {
    String pod =
        """
        {"metadata":{"name":"p","namespace":"ns","uid":"u"},
         "spec":{NODE"containers":[{"resources":{"limits":{"nvidia.com/gpu":"1"}}}]},
         "status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",
          "message":"0/1 nodes are available: 1 Insufficient nvidia.com/gpu."},
          {"type":"Ready","status":"False"}]}}
        """;
    var pending = only(pods, pod.replace("NODE", "")).facts().orElseThrow();
    assertThat(pending.scheduler().nodes()).isEqualTo(Map.of(SchedulerVerdict.Blocker.GPUS, 1));
    var bound = only(pods, pod.replace("NODE", "\"nodeName\":\"a\",")).facts().orElseThrow();
    assertThat(bound.scheduler()).isEqualTo(SchedulerVerdict.NONE);
  }

  @Test
  void objectThatCausesABug_isSkipped_andTheOthersAreRead() throws Exception {
    var kind =
        new ResourceKind<>(
            "/api/v1/pods",
            PodFields.class,
            pod -> {
              if (pod.scheduler().equals("bad")) {
                throw new IllegalStateException("a bug");
              }
              return WatchedPod.of(pod, RESOURCES, false);
            });
    String bad = "{\"metadata\":{\"name\":\"bad\"},\"spec\":{\"schedulerName\":\"bad\"}}";
    String good = "{\"metadata\":{\"name\":\"good\",\"namespace\":\"ns\"}}";
    assertThat(read(kind, body(list(bad, good))))
        .extracting(WatchedPod::key)
        .containsExactly("ns/good");
    assertThat(skipped).hasSize(1);
  }

  /** Fewer objects would be taken for all there are, and the others for gone. */
  @Test
  void pageThatIsCutOff_isNoShorterPage() {
    String page = list("{\"metadata\":{\"name\":\"a\"}}", "{\"metadata\":{\"name\":\"b\"}}");
    for (int length = 0; length < page.length() - 1; length++) {
      String part = page.substring(0, length);
      assertThatThrownBy(() -> read(pods, body(part)))
          .as("the first %d of %d characters", length, page.length())
          .isInstanceOf(IOException.class);
    }
  }

  /** The heap holds one object of a page, and what is kept of those before. */
  @Test
  void largeObjects_areReadOneAtATime() {
    var seen = new ArrayList<WatchedPod>();
    String pod =
        "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"a\":\"%s\"}}},"
            .formatted("x".repeat(1 << 20));
    var parts =
        Stream.iterate(0, i -> i <= 5, i -> i + 1)
            .map(
                i -> {
                  assertThat(seen).hasSize(Math.max(0, i - 1));
                  return body(i == 0 ? "{\"metadata\":{},\"items\":[" : pod);
                })
            .iterator();
    var cutOff =
        new SequenceInputStream(
            new Enumeration<>() {
              @Override
              public boolean hasMoreElements() {
                return parts.hasNext();
              }

              @Override
              public InputStream nextElement() {
                return parts.next();
              }
            });
    assertThatThrownBy(() -> pods.page(cutOff, seen::add, skipped::add))
        .isInstanceOf(IOException.class);
    assertThat(seen).hasSize(5);
  }
}
