package dev.tranche.extender.wait;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Names;
import dev.tranche.extender.controller.PinChecks;
import dev.tranche.extender.controller.WaitSurvey;
import dev.tranche.extender.explain.Survey;
import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.explain.WaitCauses;
import dev.tranche.extender.explain.WaitReason;
import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.readapi.row.PodDetail;
import dev.tranche.extender.readapi.row.Waiting;
import dev.tranche.extender.readapi.row.WhatIfAnswer;
import dev.tranche.extender.readapi.table.Output;
import dev.tranche.extender.selection.PodSelection.Pin;
import dev.tranche.extender.wait.SimulatedScheduler.Node;
import dev.tranche.process.fuzz.Seeds;
import io.vertx.core.Future;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * In generated situations all surfaces give the same reason why a pod waits, and it is the one
 * whose removal lets the pod run.
 */
final class WaitReasonsTest extends WaitingPodsRig {
  private static final int SEEDS = 3;

  record Situation(WaitReason reason, long seed) {
    @Override
    public String toString() {
      return reason + " " + seed;
    }
  }

  static Stream<Situation> situations() {
    long[] seeds = Seeds.of(SEEDS);
    Stream<WaitReason> others =
        Stream.of(
            WaitReason.PORT_OR_CPU,
            WaitReason.GATED,
            WaitReason.NOT_FILTERED,
            WaitReason.NOT_BOUND_YET);
    return Stream.concat(FORETOLD.stream(), others)
        .flatMap(reason -> LongStream.of(seeds).mapToObj(seed -> new Situation(reason, seed)));
  }

  @ParameterizedTest
  @MethodSource("situations")
  void allSurfaces_giveTheReason_whoseRemovalLetsThePodRun(Situation situation) {
    PodFacts pod = arrange(situation.reason(), new Random(situation.seed()));
    scheduler.report();
    pod = condition(situation.reason(), pod);
    world.see(pod);
    survey();

    String reason = situation.reason().toString();
    assertThat(row().reason()).isEqualTo(reason);
    assertThat(byReason()).containsExactly(Map.entry(reason, 1));
    PodDetail explained = world.explained("ns/p", Optional.of(scheduler.filter(pod)));
    assertThat(explained.pod().waiting()).isNotNull();
    assertThat(explained.pod().waiting().reason()).isEqualTo(reason);
    assertThat(explained.pod().waiting().message()).isEqualTo(row().message());
    List<String> lines = Output.TABLE.of(explained, Instant.now()).lines().toList();
    assertThat(lines.get(0)).isEqualTo("Waits because: " + reason + ": " + row().message());
    assertThat(lines.get(1)).isEqualTo("What to do:    " + row().whatToDo());
    assertThat(written).hasSize(situation.reason() == WaitReason.GATED ? 0 : 1);
    if (!written.isEmpty()) {
      assertEvent(situation.reason());
    }

    PodFacts freed = remove(situation.reason(), pod);
    scheduler.report();
    assertThat(scheduler.trySchedule(freed)).as("without the reason").isEmpty();
  }

  private void assertEvent(WaitReason reason) {
    assertThat(written.getFirst().getReason()).isEqualTo(reason.event());
    assertThat(written.getFirst().getMessage())
        .startsWith(reason + ": " + row().message() + ". " + row().whatToDo())
        .doesNotContain("replicas", "[", "]");
  }

  /** Only kube-scheduler knows the others: they are not of GPUs, or of a pod that exists. */
  private static final Set<WaitReason> FORETOLD =
      EnumSet.of(
          WaitReason.FULL,
          WaitReason.FRAGMENTED,
          WaitReason.TOO_FEW_GPUS,
          WaitReason.MEMORY,
          WaitReason.UNFIT,
          WaitReason.NO_SUCH_MODEL,
          WaitReason.OTHER_REPLICAS,
          WaitReason.NODES_EXCLUDED,
          WaitReason.PINNED_TO,
          WaitReason.NO_NODE);

  static Stream<Situation> foretold() {
    return situations().filter(each -> FORETOLD.contains(each.reason()));
  }

  @ParameterizedTest
  @MethodSource("foretold")
  void whatIf_givesTheCauseThatThePodGets(Situation situation) {
    PodFacts posted = arrange(situation.reason(), new Random(situation.seed()));
    scheduler.report();
    WhatIf.Answer answer = world.foretold(posted, scheduler.filter(posted), 1);
    PodFacts pod = condition(situation.reason(), posted);
    world.see(pod);
    PodDetail explained = world.explained("ns/p", Optional.of(scheduler.filter(pod)));
    assertThat(WhatIfAnswer.of(posted, answer, OptionalInt.empty(), Instant.now()).waiting())
        .isNotNull()
        .extracting(Waiting::reason, Waiting::message, Waiting::whatToDo)
        .containsExactly(
            situation.reason().toString(),
            explained.pod().waiting().message(),
            explained.pod().waiting().whatToDo());
  }

  /** Full GPUs are not why it waits: nobody has tried it. */
  @Test
  void podOfASchedulerThatDoesNotExist_isNotToldThatGpusAreFull() {
    scheduler.add(new Node("full", 10));
    scheduler.report();
    world.see(pod(5, Map.of()));
    survey();
    assertThat(row().reason()).isEqualTo("NotFiltered");
    assertThat(row().whatToDo()).contains("schedulerName");
    assertThat(byReason()).containsExactly(Map.entry("NotFiltered", 1));
    assertThat(world.explained("ns/p", Optional.empty()).pod().waiting().reason())
        .isEqualTo("NotFiltered");
  }

  /** kube-scheduler says "Insufficient nvidia.com/gpu" of a node without GPUs, too. */
  @Test
  void podWhoseOwnFieldsExcludeAllGpus_isToldSo_besideNodesWithoutGpus() {
    scheduler.add(new Node("full", 10)).otherLabel = true;
    scheduler.add(new Node("also-full", 8)).tainted = true;
    scheduler.add(new Node("cpu"));
    scheduler.report();
    PodFacts pod = condition(WaitReason.FULL, pod(5, Map.of()));
    assertThat(pod.scheduler().refusals()).contains(Reason.FULL);
    world.see(pod);
    String words = "required node affinity and taints not tolerated";
    assertThat(world.explained("ns/p", Optional.of(scheduler.filter(pod))).pod().waiting())
        .satisfies(waiting -> assertThat(waiting.reason()).isEqualTo("NodesExcluded"))
        .satisfies(waiting -> assertThat(waiting.message()).contains(words));
    survey(
        new PinChecks(
            rig.context,
            key -> Future.succeededFuture(Optional.of(new Pin("", "", words))),
            () -> 2));
    assertThat(row().reason()).isEqualTo("NodesExcluded");
    assertThat(byReason()).containsExactly(Map.entry("NodesExcluded", 1));
    assertThat(written)
        .singleElement()
        .satisfies(e -> assertThat(e.getReason()).isEqualTo("NoNodeFits"))
        .satisfies(e -> assertThat(e.getMessage()).contains(words));
  }

  /** Where fewer nodes are excluded than have GPUs, the pod's fields are not asked for. */
  @Test
  void podBesideFullGpusThatItMayUse_isToldThat_withoutAQuestionToTheApiServer() {
    scheduler.add(new Node("full", 10));
    scheduler.add(new Node("other", 10)).tainted = true;
    scheduler.report();
    world.see(condition(WaitReason.FULL, pod(5, Map.of())));
    var read = new ArrayList<String>();
    survey(
        new PinChecks(
            rig.context,
            key -> {
              read.add(key);
              return Future.succeededFuture(Optional.empty());
            },
            () -> 2));
    assertThat(row().reason()).isEqualTo("Full");
    assertThat(read).isEmpty();
  }

  @Test
  void podWhoseVolumeIsOnANodeWithoutGpus_isToldOfItsVolumes() {
    for (Node node : List.of(new Node("idle", 0), new Node("too", 2))) {
      scheduler.add(node).volumeElsewhere = true;
    }
    scheduler.add(new Node("cpu"));
    scheduler.report();
    world.see(condition(WaitReason.FULL, pod(5, Map.of())));
    survey();
    assertThat(row().reason()).isEqualTo("NodesExcluded");
    assertThat(row().message()).contains("its volumes", "would fit");
    assertThat(row().whatToDo()).contains("PersistentVolumeClaims");
  }

  /** Otherwise it would contradict the list of nodes that fit. */
  @Test
  void podWhoseVolumeIsOnAFullNode_isToldOfBoth() {
    scheduler.add(new Node("full", 10));
    scheduler.add(new Node("idle", 0)).volumeElsewhere = true;
    scheduler.report();
    world.see(condition(WaitReason.FULL, pod(5, Map.of())));
    survey();
    assertThat(row().reason()).isEqualTo("Full");
    assertThat(row().message())
        .contains("no GPU that it may use", "GPUs of node idle would fit", "its volumes");
  }

  /** To wait until others end would not help. */
  @Test
  void podThatNeedsMoreGpusThanAnyNodeHas_isToldThat_andNotThatTheyAreFull() {
    scheduler.add(new Node("two", 10, 4));
    scheduler.report();
    world.see(condition(WaitReason.FULL, pod(80, Map.of())));
    survey();
    assertThat(row().reason()).isEqualTo("TooFewGpus");
    assertThat(row().message()).contains("no node has so many GPUs");
    assertThat(row().whatToDo()).doesNotContain("wait");
  }

  /** Its GPU is held for it, so that it is not Waiting. */
  @Test
  void nominatedPod_saysThatItLacksAPort_onceTheVictimsAreGone() {
    Node node = scheduler.add(new Node("a", 0));
    scheduler.report();
    PodFacts nominated = pod(5, Map.of()).with(new PreemptionInfo(5, Map.of(), 1, false, "a"));
    var place = world.evaluator.evaluate(nominated, "a").placement().orElseThrow();
    node.taken = new int[] {10};
    scheduler.report();
    world.state.apply(new Event.Nominate(nominated, Map.of("a", place), "a"));
    world.see(nominated);
    survey();
    assertThat(row().reason()).isEqualTo("Preempting");
    node.taken = new int[] {0};
    scheduler.report();
    survey();
    assertThat(row().reason()).isEqualTo("NotBoundYet");
    node.portTaken = true;
    world.see(
        SimulatedScheduler.refused(nominated, scheduler.trySchedule(nominated).orElseThrow()));
    survey();
    assertThat(row().reason()).isEqualTo("PortOrCpu");
    assertThat(row().message())
        .isEqualTo("pods were evicted for it on node a, which still lacks a free host port");
    PodDetail explained = world.explained("ns/p", Optional.empty());
    assertThat(Output.TABLE.of(explained, Instant.now()))
        .startsWith("Waits because: PortOrCpu: pods were evicted for it on node a")
        .contains("State:         Scheduling");
  }

  /** From Kubernetes 1.35 on, kube-scheduler nominates the node while the pod's volume is made. */
  @Test
  void podWhoseVolumeIsMade_evictsNobody() {
    scheduler.add(new Node("a", 0));
    scheduler.report();
    PodFacts nominated = pod(5, Map.of()).with(new PreemptionInfo(5, Map.of(), 1, false, "a"));
    assertThat(scheduler.trySchedule(nominated)).isEmpty();
    world.see(nominated);
    String chosen = "kube-scheduler has chosen node a, and has not bound the pod yet";
    // Until the survey only filter's answer is known.
    assertThat(WaitCauses.of(nominated, Survey.UNKNOWN, world.explanations.decided(nominated)))
        .satisfies(
            cause -> {
              assertThat(cause.reason()).isEqualTo(WaitReason.NOT_BOUND_YET);
              assertThat(cause.message()).isEqualTo(chosen);
            });
    survey();
    assertThat(row().reason()).isEqualTo("NotBoundYet");
    assertThat(row().message()).isEqualTo(chosen);
    assertThat(row().whatToDo()).contains("PersistentVolumeClaims");
  }

  /** A pod with a hold sees its own GPU as free, and others do not. */
  @Test
  void podBesideANominatedOne_isToldThatItsGpuIsTaken() {
    nominateBesideOthers();
    survey();
    assertThat(reasonOf("p")).isEqualTo(WaitReason.NOT_BOUND_YET);
    assertThat(reasonOf("a")).isEqualTo(WaitReason.FULL);
    assertThat(reasonOf("z")).isEqualTo(WaitReason.FULL);
  }

  @Test
  void podWhoseNodesCannotBeRead_keepsNoOtherWithoutAReason() {
    nominateBesideOthers();
    unreadable = "p";
    survey();
    assertThat(world.explanations.cause("p")).isEmpty();
    assertThat(reasonOf("a")).isEqualTo(WaitReason.FULL);
    assertThat(reasonOf("z")).isEqualTo(WaitReason.FULL);
    assertThat(world.registry.get("tranche.extender.failures").tag("part", "task").counter())
        .satisfies(counter -> assertThat(counter.count()).isPositive());
    unreadable = "";
    survey();
    assertThat(reasonOf("p")).isEqualTo(WaitReason.NOT_BOUND_YET);
  }

  @Test
  void surveyThatFailsBeforeItBegins_isTriedAgain() {
    nominateBesideOthers();
    listeners.add(
        new WaitSurvey.Listener() {
          @Override
          public void waits(PodFacts pod, WaitCause cause, String figures) {}

          @Override
          public void retain(Set<String> waiting) {
            throw new IllegalStateException("a bug");
          }
        });
    assertThatThrownBy(survey::tick).isInstanceOf(IllegalStateException.class);
    listeners.removeLast();
    survey();
    assertThat(reasonOf("p")).isEqualTo(WaitReason.NOT_BOUND_YET);
  }

  /** Its new pods wait for the old ones, and the old ones for the new ones. */
  @Test
  void podOnFullGpus_saysWhatARollingUpdateNeeds() {
    PodFacts pod = arrange(WaitReason.FULL, new Random(1));
    scheduler.report();
    world.see(condition(WaitReason.FULL, pod));
    survey();
    assertThat(written.getFirst().getMessage()).contains("maxSurge: 0 and maxUnavailable: 1");
  }

  /** Kueue adds the selector of a flavor after admission has sized the share for other nodes. */
  @Test
  void selectorThatContradictsThePin_isNamedWithIt_onAllSurfaces() {
    PodFacts pod = arrange(WaitReason.PINNED_TO, new Random(1));
    scheduler.report();
    pod = condition(WaitReason.PINNED_TO, pod);
    world.see(pod);
    var pin = new Pin("nvidia.com/gpu.memory In 15360", "nodeSelector pool=l4", "");
    var read = new ArrayList<String>();
    var pins =
        new PinChecks(
            rig.context,
            key -> {
              read.add(key);
              return Future.succeededFuture(Optional.of(pin));
            },
            () -> 2);
    survey(pins);
    assertThat(read).as("read once").containsExactly("ns/p");
    assertThat(row().reason()).isEqualTo("PinnedTo");
    assertThat(row().message())
        .isEqualTo(
            "admission sized its share for nodes with nvidia.com/gpu.memory In 15360, and its"
                + " nodeSelector pool=l4 excludes all of these");
    assertThat(written)
        .singleElement()
        .satisfies(e -> assertThat(e.getMessage()).contains(row().message()));
    assertThat(world.explained("ns/p", Optional.empty()).pod().waiting().message())
        .isEqualTo(row().message());
  }

  /** The key of a limit begins with that of a request. */
  @Test
  void memoryLimit_isNoRequestByMemory() {
    arrange(WaitReason.PINNED_TO, new Random(1));
    scheduler.report();
    PodFacts pod = pod(5, Map.of(Names.GPU_MEMORY_LIMIT, "2Gi"));
    world.see(condition(WaitReason.PINNED_TO, pod));
    survey();
    assertThat(row().message()).doesNotContain("tranche.dev/gpu-memory");
    assertThat(row().whatToDo()).doesNotContain("tranche.dev/gpu-memory");
  }

  @Test
  void pinnedPod_saysWhichNodesItIsRestrictedTo() {
    PodFacts pod = arrange(WaitReason.PINNED_TO, new Random(1));
    scheduler.report();
    world.see(condition(WaitReason.PINNED_TO, pod));
    survey(
        new PinChecks(
            rig.context,
            key ->
                Future.succeededFuture(
                    Optional.of(new Pin("nvidia.com/gpu.memory In 15360", "", ""))),
            () -> 2));
    assertThat(row().message())
        .contains(
            "tranche.dev/gpu-memory was turned into",
            "GPUs of node idle would fit now; it may use only nodes with nvidia.com/gpu.memory In"
                + " 15360");
    assertThat(row().whatToDo()).startsWith("Set tranche.dev/gpu-model: NVIDIA A100 and recreate");
  }

  private void survey(PinChecks pins) {
    listeners.add(pins);
    survey();
  }

  @Test
  void manyKindsOfRequests_areEvaluatedInParts_eachToldBeforeTheNext() {
    scheduler.add(new Node("a", 10));
    scheduler.report();
    for (int i = 0; i < 30; i++) {
      world.see(named("kind-" + i, pod(6, Map.of("kind", "" + i))));
    }
    var told = new ArrayList<String>();
    listeners.set(0, (pod, cause, text) -> told.add(pod.uid()));
    world.stepMs = 100;
    survey.tick();
    while (!turns.isEmpty()) {
      assertThat(told.size()).isGreaterThan(3 * (nodesRead - 1));
      turns.remove().run();
    }
    assertThat(told).hasSize(30).doesNotHaveDuplicates();
    assertThat(nodesRead).isGreaterThan(5);
  }

  /** Telling one pod takes a millisecond here. */
  @Test
  void answersForManyPods_arePassedOnInShortTurns_withFiguresThatAreMadeOnce() {
    scheduler.add(new Node("a", 10));
    scheduler.report();
    for (int i = 0; i < 30; i++) {
      world.see(named("many-" + i, pod(6, Map.of())));
    }
    var told = new ArrayList<String>();
    var figures = new ArrayList<String>();
    listeners.set(
        0,
        (pod, cause, text) -> {
          told.add(pod.uid());
          figures.add(text);
          world.nowMs++;
        });
    survey.tick();
    assertThat(told).hasSizeBetween(1, 5);
    while (!turns.isEmpty()) {
      int before = told.size();
      turns.remove().run();
      assertThat(told.size() - before).isBetween(1, 5);
    }
    assertThat(told).hasSize(30).doesNotHaveDuplicates();
    assertThat(figures).allSatisfy(text -> assertThat(text).isSameAs(figures.getFirst()));
    told.clear();
    world.nowMs += 3_000;
    survey.tick();
    assertThat(told).as("the next survey").isNotEmpty();
  }
}
