package dev.tranche.extender.wait;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.controller.ControllerRig;
import dev.tranche.extender.controller.WaitEvents;
import dev.tranche.extender.controller.WaitSurvey;
import dev.tranche.extender.explain.WaitReason;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.ledger.SchedulerVerdict;
import dev.tranche.extender.ledger.TestFacts;
import dev.tranche.extender.readapi.row.ClusterSummary;
import dev.tranche.extender.readapi.row.Pod;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.Waiting;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.snapshot.NodeSnapshot;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.wait.SimulatedScheduler.Node;
import io.vertx.core.Future;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;

/** Arranges pods that wait for a known reason, and reads that reason from all surfaces. */
abstract class WaitingPodsRig {

  final ControllerRig rig = new ControllerRig();
  final FakeWorld world = rig.world;
  final SimulatedScheduler scheduler = new SimulatedScheduler(world);
  final List<io.fabric8.kubernetes.api.model.Event> written = rig.created;
  final WaitEvents events = new WaitEvents(rig.context);

  final List<WaitSurvey.Listener> listeners = new ArrayList<>(List.of(events));

  /** The pod for which the nodes cannot be read. */
  String unreadable = "";

  /** How often the nodes were read. */
  int nodesRead;

  final Deque<Runnable> turns = new ArrayDeque<>();

  final WaitSurvey survey =
      new WaitSurvey(
          rig.context,
          new WaitSurvey.Turns() {
            @Override
            public Future<List<NodeSnapshot>> nodes(PodFacts pod) {
              nodesRead++;
              if (pod.uid().equals(unreadable)) {
                throw new IllegalStateException("unreadable");
              }
              return Future.succeededFuture(world.snapshots(pod));
            }

            @Override
            public <T> Future<T> aside(Callable<T> work) {
              try {
                return Future.succeededFuture(work.call());
              } catch (Exception bug) {
                return Future.failedFuture(bug);
              }
            }

            @Override
            public void later(Runnable task) {
              turns.add(task);
            }
          },
          listeners);

  /** The only GPU is held for pod p; pods a and z want the same. */
  void nominateBesideOthers() {
    scheduler.add(new Node("a", 0));
    scheduler.report();
    PodFacts nominated = pod(6, Map.of()).with(new PreemptionInfo(5, Map.of(), 1, false, "a"));
    var place = world.evaluator.evaluate(nominated, "a").placement().orElseThrow();
    world.state.apply(new Event.Nominate(nominated, Map.of("a", place), "a"));
    world.see(nominated);
    for (String name : List.of("a", "z")) {
      PodFacts other =
          named(name, pod(6, Map.of())).with(new PreemptionInfo(5, Map.of(), 1, false, null));
      world.see(other);
      String message = scheduler.trySchedule(other).orElseThrow();
      world.see(SimulatedScheduler.refused(other, message));
    }
  }

  static PodFacts named(String name, PodFacts pod) {
    return TestFacts.pod(
        name, null, pod.annotations(), pod.requests().toArray(new Demand.Request[0]));
  }

  WaitReason reasonOf(String uid) {
    return world.explanations.cause(uid).orElseThrow().reason();
  }

  /** kube-scheduler's condition; filter is called only for the nodes that its own checks leave. */
  PodFacts condition(WaitReason reason, PodFacts pod) {
    if (reason == WaitReason.NOT_FILTERED) {
      return pod;
    }
    if (reason == WaitReason.GATED) {
      return pod.with(SchedulerVerdict.of("SchedulingGated", "", pod.resource()));
    }
    if (reason == WaitReason.NOT_BOUND_YET) {
      scheduler.nodes().forEach(node -> node.taken = new int[] {10, 10});
      scheduler.report();
      String message = scheduler.trySchedule(pod).orElseThrow();
      scheduler.nodes().forEach(node -> node.taken = new int[] {0, 0});
      scheduler.report();
      return SimulatedScheduler.refused(pod, message);
    }
    return SimulatedScheduler.refused(pod, scheduler.trySchedule(pod).orElseThrow());
  }

  PodFacts arrange(WaitReason reason, Random random) {
    int share = 4 + random.nextInt(5);
    PodFacts pod = pod(share, Map.of());
    switch (reason) {
      case FULL -> {
        usable(random, 10 - share / 2, 10);
        distract(random, true);
      }
      case FRAGMENTED -> {
        usable(random, 11 - share, 11 - share);
        distract(random, true);
      }
      case TOO_FEW_GPUS -> {
        usable(random, 0, 11 - share);
        distract(random, true);
        pod = pod(2 * share, Map.of(Names.GPU_COUNT, "2"));
      }
      case MEMORY -> {
        usable(random, 0).forEach(node -> node.usedBytes = 8 * FakeWorld.GIB);
        distract(random, true);
      }
      case UNFIT -> usable(random, 0, 0).forEach(node -> node.unhealthy = true);
      case NO_SUCH_MODEL -> {
        usable(random, 0, 3);
        pod = pod(share, Map.of(Names.GPU_MODEL, "NVIDIA A100"));
      }
      case OTHER_REPLICAS -> usable(random, 0, 0).forEach(node -> node.replicas = 4);
      case NODES_EXCLUDED -> {
        usable(random, 0, 2).forEach(node -> exclude(node, random));
        distract(random, false);
      }
      case PORT_OR_CPU -> {
        for (Node node : usable(random, 0, 2)) {
          node.lacksCpu = random.nextBoolean();
          node.portTaken = !node.lacksCpu;
        }
        distract(random, false);
      }
      case PINNED_TO -> {
        usable(random, 10, 10);
        Node idle = scheduler.add(new Node("idle", 0));
        idle.otherLabel = true;
        idle.model = "NVIDIA A100";
        pod = pod(share, Map.of(Names.GPU_MEMORY, "4Gi"));
      }
      case NO_NODE -> scheduler.add(new Node("no-gpus"));
      default -> usable(random, 0, 0);
    }
    return pod;
  }

  /** Adds one to three nodes that the pod may use. */
  List<Node> usable(Random random, int... taken) {
    var nodes = new ArrayList<Node>();
    for (int i = 0; i <= random.nextInt(3); i++) {
      nodes.add(scheduler.add(new Node("usable-" + i, taken)));
    }
    return nodes;
  }

  /**
   * Adds a node that the pod may not use.
   *
   * @param room whether its GPUs would fit
   */
  void distract(Random random, boolean room) {
    exclude(scheduler.add(new Node("other", room ? 0 : 10)), random);
  }

  static void exclude(Node node, Random random) {
    switch (random.nextInt(3)) {
      case 0 -> node.tainted = true;
      case 1 -> node.otherLabel = true;
      default -> node.cordoned = true;
    }
  }

  static PodFacts pod(int replicas, Map<String, String> more) {
    var annotations = new HashMap<>(more);
    annotations.putIfAbsent(Names.REPLICAS_PER_GPU, "10");
    if (!more.containsKey(Names.GPU_MEMORY)) {
      annotations.put(Names.GPU_FRACTION, "0.5");
    }
    return TestFacts.pod("p", null, annotations, TestFacts.main(replicas));
  }

  /** Removes the reason, and nothing else. */
  PodFacts remove(WaitReason reason, PodFacts pod) {
    for (Node node : scheduler.nodes()) {
      boolean usable = !node.tainted && !node.otherLabel && !node.cordoned;
      switch (reason) {
        case FULL, FRAGMENTED, TOO_FEW_GPUS -> {
          if (usable) {
            node.taken = new int[] {0, 0};
          }
        }
        case MEMORY -> node.usedBytes = 0;
        case UNFIT -> node.unhealthy = false;
        case NODES_EXCLUDED -> {
          node.tainted = false;
          node.otherLabel = false;
          node.cordoned = false;
        }
        case PORT_OR_CPU -> {
          node.lacksCpu = false;
          node.portTaken = false;
        }
        case PINNED_TO -> node.otherLabel = false;
        case NO_NODE -> node.taken = new int[] {0};
        default -> {}
      }
    }
    return switch (reason) {
      case NO_SUCH_MODEL -> {
        assertThat(row().message()).contains("NVIDIA A100", "the cluster has Tesla T4");
        yield pod(4, Map.of(Names.GPU_MODEL, "Tesla T4"));
      }
      case OTHER_REPLICAS -> {
        assertThat(row().message()).contains("steps of 0.1", "steps of 0.25");
        yield pod(2, Map.of(Names.REPLICAS_PER_GPU, "4"));
      }
      default -> pod;
    };
  }

  /** Until the event is due. */
  void survey() {
    for (int i = 0; i < 6; i++) {
      survey.tick();
      world.nowMs += 3_000;
    }
  }

  Waiting row() {
    var reasons = new WaitingReasons(world.explanations);
    Pod pod =
        snapshot().pods.stream()
            .filter(row -> row.pod().name().equals("p"))
            .findFirst()
            .map(reasons::pod)
            .orElseThrow();
    assertThat(pod.waiting()).isNotNull();
    return pod.waiting();
  }

  Map<String, Integer> byReason() {
    var counts = new HashMap<String, Integer>();
    ClusterSummary.of(snapshot(), new WaitingReasons(world.explanations))
        .waitingPods()
        .byReason()
        .forEach(each -> counts.put(each.reason(), each.pods()));
    return counts;
  }

  Snapshot snapshot() {
    return Snapshot.of(world.inspection());
  }
}
