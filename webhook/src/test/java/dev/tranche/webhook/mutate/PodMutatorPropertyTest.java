package dev.tranche.webhook.mutate;

import static dev.tranche.webhook.Reviews.JSON;
import static dev.tranche.webhook.Reviews.apply;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.process.fuzz.Seeds;
import dev.tranche.webhook.PlainRequestsTest;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Mutation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What holds for any pod on any nodes. */
class PodMutatorPropertyTest {
  private static final int PODS = 500;
  private static final Pattern OURS =
      Pattern.compile(
          "/metadata/annotations(/tranche\\.dev~1[a-z.-]+)?|/spec/(affinity|schedulerName|runtimeClassName)"
              + "|/spec/(initC|c)ontainers/\\d+/resources");
  private static final List<String> VALUES =
      List.of("0.5", "1/3", "25%", "1", "2", "0", "half", "4Gi", "900Mi", "load", "main", "init");
  private static final List<String> KEYS =
      List.of(
          "tranche.dev/gpu-fraction",
          "tranche.dev/gpu-fraction",
          "tranche.dev/gpu-fraction.main",
          "tranche.dev/gpu-fraction.init",
          "tranche.dev/gpu-memory",
          "tranche.dev/gpu-memory.side",
          "tranche.dev/gpu-count",
          "tranche.dev/gpu-container",
          "tranche.dev/gpu-placement",
          "tranche.dev/gpu-model",
          "tranche.dev/replicas-per-gpu",
          "tranche.dev/granted-fraction",
          "tranche.dev/granted-memory",
          "tranche.dev/granted-replicas",
          "tranche.dev/gpu-model-granted",
          "tranche.dev/gpu",
          "gpu-fraction",
          "gpu-memory",
          "nvidia.com/use-gputype",
          "mine");

  @ParameterizedTest
  @EnumSource
  void anyPod_isDeniedInSentences_orRewrittenOnce_andOnlyInOurPlaces(
      MutationRules.PlainRequests plain) {
    var mutator = new PodMutator(PlainRequestsTest.rules(plain));
    int patched = 0;
    long[] seeds = Seeds.of(PODS);
    for (long seed : seeds) {
      RandomGenerator random = Seeds.random(seed);
      var cluster = new MutationRules.Cluster(nodes(random), true);
      ObjectNode pod = pod(random);
      ObjectNode before = pod.deepCopy();
      Mutation mutation = mutator.mutate(pod, cluster);
      assertThat(pod).as("seed %d", seed).isEqualTo(before);
      switch (mutation) {
        case Mutation.Denied(String message, String reason) ->
            assertThat(message).as("seed %d, %s", seed, pod).endsWith(".");
        case Mutation.Unchanged unchanged -> {}
        case Mutation.Patched(var patch, var warnings) -> {
          patched++;
          assertThat(patch.operations())
              .as("seed %d, %s", seed, pod)
              .allSatisfy(o -> assertThat(o.path("path").asText()).matches(OURS));
          JsonNode once = apply(mutation, pod);
          assertThat(mutator.mutate(once, cluster))
              .as("seed %d, %s became %s", seed, pod, once)
              .isInstanceOf(Mutation.Unchanged.class);
        }
      }
    }
    assertThat(patched).isGreaterThanOrEqualTo(seeds.length / 10);
  }

  private static ObjectNode pod(RandomGenerator random) {
    ObjectNode pod = JSON.createObjectNode();
    ObjectNode metadata = pod.putObject("metadata").put("generateName", "p-");
    if (random.nextInt(5) > 0) {
      ObjectNode annotations = metadata.putObject("annotations");
      for (int i = random.nextInt(4); i >= 0; i--) {
        annotations.put(pick(random, KEYS), pick(random, VALUES));
      }
    }
    ObjectNode spec = pod.putObject("spec");
    containers(random, spec.putArray("containers"), List.of("main", "side"));
    if (random.nextInt(3) == 0) {
      containers(random, spec.putArray("initContainers"), List.of("init"));
    }
    if (random.nextInt(4) == 0) {
      spec.putObject("nodeSelector").put("nvidia.com/gpu.replicas", "4");
    }
    return pod;
  }

  private static void containers(RandomGenerator random, ArrayNode list, List<String> names) {
    for (String name : names) {
      ObjectNode container = list.addObject().put("name", name);
      if (random.nextInt(4) == 0) {
        ObjectNode limits = container.putObject("resources").putObject("limits").put("cpu", "1");
        limits.put(pick(random, List.of("nvidia.com/gpu", "nvidia.com/gpumem")), "5");
      }
    }
  }

  private static List<GpuNode> nodes(RandomGenerator random) {
    var nodes = new ArrayList<GpuNode>();
    for (int i = random.nextInt(4); i > 0; i--) {
      var labels = new HashMap<String, String>();
      labels.put("nvidia.com/gpu.replicas", pick(random, List.of("4", "10", "0")));
      if (random.nextInt(2) == 0) {
        labels.put("tranche.dev/replicas-per-gpu", pick(random, List.of("4", "10", "5")));
      }
      if (random.nextInt(4) > 0) {
        labels.put("nvidia.com/gpu.memory", pick(random, List.of("15360", "40960", "81920")));
        labels.put("nvidia.com/gpu.product", pick(random, List.of("half", "Tesla-T4-SHARED")));
        labels.put("nvidia.com/gpu.count", pick(random, List.of("1", "8")));
      }
      nodes.add(new GpuNode("n" + i, labels));
    }
    return nodes;
  }

  private static String pick(RandomGenerator random, List<String> of) {
    return of.get(random.nextInt(of.size()));
  }
}
