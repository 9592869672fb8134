package dev.tranche.webhook;

import static dev.tranche.webhook.Reviews.JSON;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Demand;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PodFields;
import dev.tranche.extender.ledger.ReadPod;
import dev.tranche.process.client.KubernetesJson;
import dev.tranche.process.fuzz.Seeds;
import dev.tranche.webhook.mutate.MutationRules;
import dev.tranche.webhook.mutate.MutationRules.PlainRequests;
import dev.tranche.webhook.mutate.PodMutator;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Mutation;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Pods of owners who mean well, and of some who do not. What each container asks for is drawn
 * first, as an exact part of a GPU, and then written in one of many ways. Either the pod is denied,
 * or the extender reads from the result what was drawn. What is admitted is admitted again
 * unchanged, since webhooks are called twice.
 */
class ShareTruthTest {
  private static final int PODS = 300;
  private static final String RESOURCE = "nvidia.com/gpu";
  private static final String SCHEDULER = "tranche-scheduler";
  private static final String SHARE = "tranche.dev/gpu-fraction";
  private static final int REPLICAS_MAX = 10_000;
  private static final int CONTAINERS_MAX = 512;

  private RandomGenerator random = Seeds.random(0);

  /**
   * What a container asks for.
   *
   * @param numerator of the part of one GPU, or of a number of GPUs
   * @param gpus the GPUs on each of which it asks for that part
   */
  private record Truth(long numerator, long denominator, int gpus, boolean plain) {
    /** On each GPU: the part, rounded up. */
    long replicas(int of) {
      BigInteger[] parts =
          BigInteger.valueOf(numerator)
              .multiply(BigInteger.valueOf(of))
              .divideAndRemainder(BigInteger.valueOf(denominator));
      return parts[0].longValueExact() + parts[1].signum();
    }
  }

  private record Case(ObjectNode pod, Map<String, Truth> truths) {}

  @ParameterizedTest
  @EnumSource(names = {"GPUS", "REPLICAS"})
  void whatIsAdmitted_isWhatWasAsked_forTheExtenderToo(PlainRequests plain) {
    MutationRules rules =
        Reviews.rules(List.of(RESOURCE), 10, SCHEDULER, "nvidia").with(plain, Set.of());
    var mutator = new PodMutator(rules);
    int admitted = 0;
    long[] seeds = Seeds.of(PODS);
    for (long seed : seeds) {
      random = Seeds.random(seed);
      var cluster = Reviews.cluster(nodes());
      Case drawn = drawn();
      String as = "seed %d, %s".formatted(seed, drawn);
      Mutation mutation = mutator.mutate(drawn.pod(), cluster);
      if (mutation instanceof Mutation.Denied) {
        continue;
      }
      JsonNode pod = Reviews.apply(mutation, drawn.pod());
      assertThat(mutator.mutate(pod, cluster))
          .as("%s\nbecame %s", as, pod)
          .matches(Reviews::changesNothing);
      Optional<PodFacts> facts = asTheExtenderReads(pod);
      if (drawn.truths().isEmpty()) {
        assertThat(facts).as(as).isEmpty();
      } else {
        admitted++;
        check("%s\nbecame %s".formatted(as, pod), drawn, facts.orElseThrow(), plain);
      }
    }
    assertThat(admitted).isGreaterThanOrEqualTo(seeds.length / 4);
  }

  private static void check(String as, Case drawn, PodFacts facts, PlainRequests plain) {
    boolean stamped = facts.stampedReplicas().isPresent();
    boolean shares = drawn.truths().values().stream().anyMatch(truth -> !truth.plain());
    assertThat(stamped).as(as).isEqualTo(shares || plain == PlainRequests.GPUS);
    int of = facts.stampedReplicas().orElse(10);
    Map<String, Demand.Container> read = new HashMap<>();
    Demand demand = facts.demand(of);
    demand.containers().forEach(container -> read.put(container.name(), container));
    // Init containers that pass several whole GPUs on may be left out.
    assertThat(drawn.truths().keySet()).as(as).containsAll(read.keySet());
    boolean passedOn = read.size() < drawn.truths().size();
    assertThat(passedOn && drawn.truths().values().stream().noneMatch(t -> t.gpus() > 1))
        .as(as)
        .isFalse();
    read.forEach(
        (name, container) -> {
          Truth truth = Objects.requireNonNull(drawn.truths().get(name));
          if (truth.plain() && plain == PlainRequests.REPLICAS) {
            assertThat((long) container.replicas()).as(as).isEqualTo(truth.gpus());
          } else {
            assertThat(container.shares())
                .as(as)
                .containsExactly(new Demand.Shares(truth.gpus(), (int) truth.replicas(of)));
          }
        });
    assertThat(demand.peakReplicas()).as(as).isLessThanOrEqualTo(REPLICAS_MAX);
    assertThat(read.size()).as(as).isLessThanOrEqualTo(CONTAINERS_MAX);
  }

  private static Optional<PodFacts> asTheExtenderReads(JsonNode pod) {
    ReadPod read = KubernetesJson.MAPPER.convertValue(pod, PodFields.class).read();
    Optional<PodFacts> facts = read.facts(List.of(RESOURCE));
    if (facts.isPresent()) {
      assertThat(pod.at("/spec/schedulerName").asText()).isEqualTo(SCHEDULER);
      assertThat(read.unmetShare(List.of(RESOURCE))).isEmpty();
    }
    return facts;
  }

  // --- what is drawn ---

  private Case drawn() {
    var truths = new LinkedHashMap<String, Truth>();
    ObjectNode pod = JSON.createObjectNode();
    ObjectNode metadata = pod.putObject("metadata").put("name", "p").put("namespace", "ns");
    ObjectNode annotations = metadata.putObject("annotations");
    ObjectNode spec = pod.putObject("spec");
    ArrayNode apps = spec.putArray("containers");
    int containers = random.nextInt(40) == 0 ? 500 + random.nextInt(400) : 1 + random.nextInt(3);
    boolean unnamed = random.nextInt(3) == 0;
    int count = random.nextInt(4) == 0 ? 1 + random.nextInt(3) : 1;
    boolean many = containers > 3;
    for (int i = 0; i < containers; i++) {
      String name = "c" + i;
      ObjectNode container = apps.addObject().put("name", name);
      if (i == 0 && random.nextInt(3) > 0) {
        container.putObject("resources").putObject("limits").put("cpu", "1");
      }
      if (!unnamed && (many ? random.nextInt(20) > 0 : random.nextInt(3) > 0)) {
        ask(truths, annotations, container, many, count);
      }
    }
    if (unnamed) {
      Truth truth = share(count);
      int target = random.nextInt(containers);
      annotations.put(SHARE, spelt(truth));
      if (target > 0 || random.nextBoolean() || containers > 1) {
        annotations.put("tranche.dev/gpu-container", "c" + target);
      }
      truths.put("c" + target, truth);
    }
    boolean shares = truths.values().stream().anyMatch(truth -> !truth.plain());
    if (count > 1 && shares) {
      annotations.put("tranche.dev/gpu-count", Integer.toString(count));
    }
    if (random.nextInt(4) == 0) {
      inits(truths, annotations, spec);
    }
    if (unnamed && spec.path("initContainers").valueStream().anyMatch(i -> i.has("resources"))) {
      // A share that names no container is the one of a sidecar that requests a number of GPUs.
      truths.keySet().stream()
          .filter(name -> name.startsWith("c"))
          .forEach(name -> annotations.put("tranche.dev/gpu-container", name));
    }
    disguise(annotations, spec);
    return new Case(pod, truths);
  }

  private void inits(Map<String, Truth> truths, ObjectNode annotations, ObjectNode spec) {
    ArrayNode inits = spec.putArray("initContainers");
    for (int i = random.nextInt(3); i >= 0; i--) {
      ObjectNode init = inits.addObject().put("name", "i" + i);
      if (random.nextBoolean()) {
        init.put("restartPolicy", "Always");
      }
      if (random.nextBoolean() && !annotations.has("tranche.dev/gpu-count")) {
        ask(truths, annotations, init, false, 1);
      }
    }
  }

  private void ask(
      Map<String, Truth> truths,
      ObjectNode annotations,
      ObjectNode container,
      boolean small,
      int count) {
    String name = container.path("name").asText();
    if (!small && random.nextInt(4) == 0) {
      int gpus = 1 + random.nextInt(3);
      truths.put(name, new Truth(1, 1, gpus, true));
      String spelling = pick(List.of("%d", "%d", "0%d", "%d000m", "%de0", "%d.0"));
      ObjectNode resources = container.withObject("/resources");
      resources.withObject("/limits").put(RESOURCE, spelling.formatted(gpus));
      if (random.nextBoolean()) {
        resources.withObject("/requests").put(RESOURCE, spelling.formatted(gpus));
      }
    } else {
      Truth truth = small ? new Truth(1, 10, count, false) : share(count);
      truths.put(name, truth);
      annotations.put(SHARE + "." + name, spelt(truth));
    }
  }

  private Truth share(int count) {
    long denominator = pick(List.of(1L, 2L, 3L, 7L, 10L, 100L, 1_000L, 999_983L));
    long numerator = 1 + random.nextLong(denominator);
    if (count == 1 && random.nextInt(8) == 0) {
      return new Truth(1, 1, 1 + random.nextInt(3), false);
    }
    return new Truth(numerator, denominator, count, false);
  }

  private String spelt(Truth truth) {
    boolean several = truth.numerator() == truth.denominator() && truth.gpus() > 1;
    String text =
        several && !countSays(truth)
            ? pick(List.of("%d", "%d.0", "0%d", "%d00%%")).formatted(truth.gpus())
            : "%d%s%d"
                .formatted(
                    truth.numerator(), pick(List.of("/", " / ", " /", "\t/")), truth.denominator());
    return switch (random.nextInt(12)) {
      case 0 -> " " + text + "\n";
      case 1 -> " ".repeat(random.nextInt(600)) + text;
      case 2 -> text + "\u2003".repeat(random.nextInt(600));
      default -> text;
    };
  }

  /** A whole GPU on each of several is written as a share with a count. */
  private static boolean countSays(Truth truth) {
    return truth.denominator() > 1;
  }

  /** What tenants write to be believed, and what makes pods large. */
  private void disguise(ObjectNode annotations, ObjectNode spec) {
    if (random.nextInt(6) == 0) {
      annotations.put("tranche.dev/replicas-per-gpu", pick(List.of("1", "10", "10000", "0", "x")));
    }
    if (random.nextInt(6) == 0) {
      annotations.put(
          "tranche.dev/gpus-requested", pick(List.of("c0=1", "c0=0", "c0=10,c1=2", ",=,", "c0")));
    }
    if (random.nextInt(6) == 0) {
      annotations.put("tranche.dev/gpu", "GPU-0,GPU-1");
    }
    if (random.nextInt(8) == 0) {
      annotations.put("tranche.dev/gpu-model", pick(List.of("H100", "!H100", "!A100")));
    }
    if (random.nextInt(6) == 0) {
      spec.put("hostPID", true);
    }
    if (random.nextInt(5) == 0) {
      ArrayNode terms =
          spec.putObject("affinity")
              .putObject("nodeAffinity")
              .putObject("requiredDuringSchedulingIgnoredDuringExecution")
              .putArray("nodeSelectorTerms");
      for (int i = 1 + random.nextInt(130); i > 0; i--) {
        terms
            .addObject()
            .putArray("matchExpressions")
            .addObject()
            .put("key", "zone-" + i)
            .put("operator", "Exists");
      }
    }
  }

  private List<GpuNode> nodes() {
    var nodes = new ArrayList<GpuNode>();
    for (int i = random.nextInt(4); i > 0; i--) {
      var labels = new HashMap<String, String>();
      labels.put("tranche.dev/replicas-per-gpu", pick(List.of("1", "3", "7", "10", "10000")));
      labels.put("tranche.dev/sharing-strategy", pick(List.of("time-slicing", "mps")));
      labels.put("nvidia.com/gpu.product", pick(List.of("H100", "A100-SHARED")));
      labels.put("nvidia.com/gpu.count", "8");
      labels.put("zone-1", "a");
      nodes.add(Reviews.node("n" + i, labels));
    }
    return nodes;
  }

  private <T> T pick(List<T> from) {
    return from.get(random.nextInt(from.size()));
  }
}
