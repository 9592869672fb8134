package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Names;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.LocalApi;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What what-if says of a pod, and what then happens to it. */
@Tag("matrix")
@Order(35)
class WhatIfE2E extends Scenario {
  private static final int PODS = Integer.getInteger("tranche.whatIfPods", 500);

  /** Then some of them are deleted: a full cluster answers every question alike. */
  private static final int PODS_AT_ONCE = 20;

  /** Of ten points, in GPUs. */
  private static final BigDecimal SCORE_STEP = new BigDecimal("0.1");

  private static final List<String> FRACTIONS =
      List.of("0.1", "0.1", "0.2", "0.3", "0.3", "0.4", "0.6", "0.9", "1", "2");

  private final Random random = new Random(25);
  private final Map<String, Integer> outcomes = new HashMap<>();
  private final List<String> wrong = new ArrayList<>();

  @Test
  void randomPods_goWhereWhatIfSaid_orWaitWhereItSaidSo() throws Exception {
    try (LocalApi api = leader()) {
      for (int i = 0; i < PODS; i++) {
        compare(api, random("p" + i));
        if ((i + 1) % PODS_AT_ONCE == 0) {
          deleteSome(api);
        }
      }
    }
    assertThat(wrong).as("%s", outcomes).isEmpty();
    // What young pods are expected to use fades. A moment later, a score may be rounded down, or
    // another GPU of the node may have the least load.
    assertThat(outcomes.getOrDefault("drifted", 0)).as("%s", outcomes).isLessThan(PODS / 50);
    assertThat(outcomes.get("foretold")).as("%s", outcomes).isGreaterThan(PODS / 3);
    assertThat(outcomes.get("waits")).as("%s", outcomes).isGreaterThan(PODS / 20);
  }

  /** Who decides: the others hear of its decisions later. */
  private static LocalApi leader() {
    String lease = tranche().usesExistingScheduler() ? "tranche-extender" : Names.SCHEDULER;
    String holder =
        tranche()
            .client()
            .leases()
            .inNamespace(Tranche.NAMESPACE)
            .withName(lease)
            .get()
            .getSpec()
            .getHolderIdentity();
    Pod pod =
        tranche().parts("extender").stream()
            .filter(p -> holder.startsWith(p.getMetadata().getName()))
            .findFirst()
            .orElseThrow(() -> new AssertionError("no extender is " + holder));
    return new LocalApi(tranche().client(), pod);
  }

  /** It need not run, so its image need not be there. */
  private Pod random(String name) {
    var annotations = new HashMap<String, String>();
    annotations.put(Names.GPU_FRACTION, FRACTIONS.get(random.nextInt(FRACTIONS.size())));
    if (annotations.get(Names.GPU_FRACTION).startsWith("0") && random.nextInt(6) == 0) {
      annotations.put(Names.GPU_COUNT, "2");
    }
    if (random.nextInt(8) == 0) {
      annotations.put(Names.GPU_PLACEMENT, "spread");
    }
    if (random.nextInt(10) == 0) {
      annotations.put(Names.GPU_UUID, "!" + tranche().gpus(ALPHA).uuid(0));
    }
    var pod =
        PodSpecs.annotated(name, annotations)
            .editSpec()
            .withTerminationGracePeriodSeconds(1L)
            .editFirstContainer()
            .withImage("none")
            .withImagePullPolicy("Never")
            .endContainer()
            .endSpec();
    return random.nextInt(5) == 0
        ? PodSpecs.on(tranche().nodes().get(random.nextInt(3)), pod)
        : pod.build();
  }

  private void compare(LocalApi api, Pod pod) throws Exception {
    Pod stored = tranche().client().pods().inNamespace(namespace).resource(pod).dryRun().create();
    JsonNode predicted = foretold(api, stored);
    create(pod);
    String name = pod.getMetadata().getName();
    Await.until(name + " to be decided on", RUNNING_SECONDS, () -> decided(get(name)));
    Pod now = get(name);
    String outcome = outcome(predicted, now);
    outcomes.merge(outcome, 1, Integer::sum);
    if (outcome.equals("wrong")) {
      wrong.add(
          "%s %s: %s, but is on %s %s"
              .formatted(
                  name,
                  pod.getMetadata().getAnnotations(),
                  predicted,
                  nodeOf(now),
                  now.getMetadata().getAnnotations().get(Names.GPU)));
    }
    if (nodeOf(now) == null) {
      delete(name);
    }
  }

  /**
   * Asks again while another pod is being scheduled, or a node was late: what is held then may be
   * free when the pod comes.
   */
  private static JsonNode foretold(LocalApi api, Pod pod) {
    var answers = new ArrayList<JsonNode>();
    Await.until(
        "a prediction for " + pod.getMetadata().getName(),
        RUNNING_SECONDS,
        () -> {
          answers.add(whatIf(api, pod));
          return !"NotAcknowledging".equals(answers.getLast().at("/waiting/reason").asText())
              && json(() -> api.get("/api/v1/pods?state=Scheduling")).get("items").isEmpty();
        },
        () -> answers.getLast().toString());
    return answers.getLast();
  }

  private static boolean decided(Pod pod) {
    return nodeOf(pod) != null
        || pod.getStatus().getConditions().stream()
            .anyMatch(
                c -> "PodScheduled".equals(c.getType()) && "Unschedulable".equals(c.getReason()));
  }

  private static String outcome(JsonNode predicted, Pod now) {
    if (nodeOf(now) == null) {
      return predicted.get("fits").asBoolean() ? "wrong" : "waits";
    }
    if (!predicted.get("fits").asBoolean()) {
      return "wrong";
    }
    if (predicted.get("node").asText().equals(nodeOf(now))) {
      Set<String> assigned = assigned(now);
      return uuids(predicted).equals(assigned)
          ? "foretold"
          : nearlyAsGood(predicted, assigned) ? "drifted" : "wrong";
    }
    // kube-scheduler chooses among nodes that have the same score of ours.
    int score = predicted.get("score").asInt();
    return scoreOf(predicted, nodeOf(now))
        .map(other -> other == score ? "equal node" : other == score - 1 ? "drifted" : "wrong")
        .orElse("wrong");
  }

  private static Set<String> uuids(JsonNode predicted) {
    var uuids = new TreeSet<String>();
    predicted.get("gpus").forEach(gpu -> uuids.add(gpu.get("uuid").asText()));
    return uuids;
  }

  /** Whether other GPUs of the node have room, and are busier by at most one step of a score. */
  private static boolean nearlyAsGood(JsonNode predicted, Set<String> assigned) {
    String node = predicted.get("node").asText();
    Map<String, JsonNode> gpus =
        predicted
            .get("fitted")
            .valueStream()
            .filter(fit -> fit.get("node").asText().equals(node))
            .flatMap(fit -> fit.get("gpus").valueStream())
            .collect(Collectors.toMap(gpu -> gpu.get("uuid").asText(), gpu -> gpu));
    Set<String> foretold = uuids(predicted);
    int replicas = predicted.at("/gpus/0/replicas").asInt();
    BigDecimal smMax =
        foretold.stream()
            .map(uuid -> sm(gpus.get(uuid)))
            .reduce(BigDecimal.ZERO, BigDecimal::max)
            .add(SCORE_STEP);
    return assigned.size() == foretold.size()
        && assigned.stream()
            .map(gpus::get)
            .allMatch(
                gpu ->
                    gpu != null
                        && gpu.get("freeReplicas").asInt() >= replicas
                        && sm(gpu).compareTo(smMax) <= 0);
  }

  private static BigDecimal sm(JsonNode gpu) {
    return new Quantity(gpu.at("/effective/sm").asText()).getNumericalAmount();
  }

  private static Optional<Integer> scoreOf(JsonNode predicted, String node) {
    return predicted
        .get("fitted")
        .valueStream()
        .filter(fit -> fit.get("node").asText().equals(node))
        .map(fit -> fit.get("score").asInt())
        .findFirst();
  }

  /** Returns when nobody remembers them. */
  private void deleteSome(LocalApi api) {
    List<Pod> gone = pods().stream().filter(pod -> random.nextInt(3) > 0).toList();
    int left = pods().size() - gone.size();
    gone.forEach(pod -> tranche().client().resource(pod).delete());
    Await.until("some pods to be gone", 60, () -> pods().size() == left);
    BigDecimal held = pods().stream().map(WhatIfE2E::gpus).reduce(BigDecimal.ZERO, BigDecimal::add);
    Await.until(
        "their GPUs to be free",
        60,
        () -> granted(api).compareTo(held) == 0,
        () -> granted(api) + " are granted, " + held + " are held");
  }

  private static BigDecimal gpus(Pod pod) {
    return pod.getSpec().getContainers().stream()
        .map(c -> c.getResources().getLimits().get(Names.RESOURCE).getNumericalAmount())
        .reduce(BigDecimal.ZERO, BigDecimal::add)
        .divide(BigDecimal.valueOf(Tranche.REPLICAS_PER_GPU));
  }

  private static BigDecimal granted(LocalApi api) {
    JsonNode summary = json(() -> api.get("/api/v1/summary"));
    return Quantity.getAmountInBytes(new Quantity(summary.at("/cluster/granted/gpus").asText()));
  }

  private static JsonNode whatIf(LocalApi api, Pod pod) {
    return json(() -> api.post("/api/v1/what-if", Serialization.asJson(pod)));
  }

  private static JsonNode json(Callable<LocalApi.Answer> request) {
    try {
      LocalApi.Answer answer = request.call();
      assertThat(answer.status()).as(answer.body()).isEqualTo(200);
      return answer.json();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
