package dev.tranche.extender.wait;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.SchedulerVerdict;
import dev.tranche.extender.ledger.TestFacts;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.load.Readings;
import dev.tranche.extender.selection.Exclusion;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.Filter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * kube-scheduler as far as one pod and its nodes are concerned: its own checks in its own order, a
 * call of filter for the nodes that are left, and the message that it writes into the condition.
 */
final class SimulatedScheduler {
  private static final long GIB = FakeWorld.GIB;
  private final FakeWorld world;
  private final List<Node> nodes = new ArrayList<>();
  private int holders;

  /** A node, and what of it kube-scheduler looks at before GPUs. */
  static final class Node {
    final String name;
    String model = "Tesla T4";
    int replicas = 10;
    boolean tainted;
    boolean otherLabel;
    boolean cordoned;
    boolean lacksCpu;
    boolean portTaken;
    boolean volumeElsewhere;
    boolean unhealthy;
    long usedBytes;

    /** Replicas that other pods hold of each GPU. */
    int[] taken;

    private final List<String> holders = new ArrayList<>();

    Node(String name, int... taken) {
      this.name = name;
      this.taken = taken;
    }

    int free() {
      int free = 0;
      for (int of : taken) {
        free += unhealthy ? 0 : replicas - of;
      }
      return free;
    }
  }

  SimulatedScheduler(FakeWorld world) {
    this.world = world;
  }

  List<Node> nodes() {
    return nodes;
  }

  Node add(Node node) {
    nodes.add(node);
    return node;
  }

  /** Makes the extender see the nodes as they are now. */
  void report() {
    for (Node node : nodes) {
      node.holders.forEach(uid -> world.state.apply(new Event.PodGone(uid, "ns/" + uid)));
      node.holders.clear();
      var facts = new ArrayList<GpuFacts>();
      var readings = new HashMap<String, LoadReading>();
      for (int i = 0; i < node.taken.length; i++) {
        String uuid = node.name + "-" + i;
        facts.add(
            new GpuFacts(
                uuid,
                i,
                node.model,
                Names.RESOURCE,
                node.replicas,
                10 * GIB,
                !node.unhealthy,
                node.unhealthy ? "XID 79" : "",
                0,
                "",
                0,
                Map.of()));
        readings.put(uuid, Readings.of(node.usedBytes, 0.1, 0, world.nowMs, Map.of(), Map.of()));
      }
      var state = new NodeState(true, facts, Map.of(), true, Map.of(), List.of());
      world.state.reported(new Event.Reported(node.name, state, OptionalLong.of(0)), readings);
      for (int i = 0; i < node.taken.length; i++) {
        if (node.taken[i] > 0) {
          hold(node, i);
        }
      }
    }
  }

  private void hold(Node node, int gpu) {
    String name = "holder-" + holders++;
    node.holders.add(name);
    var facts =
        TestFacts.running(
            TestFacts.pod(
                name,
                node.name,
                Map.of(
                    Names.GPU_FRACTION,
                    "1",
                    Names.REPLICAS_PER_GPU,
                    Integer.toString(node.replicas),
                    Names.GPU,
                    node.name + "-" + gpu),
                TestFacts.main(node.taken[gpu])));
    world.see(facts);
  }

  /** Which nodes the pod's own fields exclude, as the API server would tell. */
  NodeFilter filter(PodFacts pod) {
    return name ->
        nodes.stream().filter(node -> node.name.equals(name)).findFirst().flatMap(this::excludes);
  }

  private Optional<Exclusion> excludes(Node node) {
    if (node.cordoned) {
      return Optional.of(Exclusion.UNSCHEDULABLE);
    }
    if (node.tainted) {
      return Optional.of(Exclusion.TAINTS);
    }
    return node.otherLabel ? Optional.of(Exclusion.NODE_AFFINITY) : Optional.empty();
  }

  /** Tries the pod. Returns the condition's message; empty if the pod is bound. */
  Optional<String> trySchedule(PodFacts pod) {
    var reasons = new TreeMap<String, Integer>();
    var left = new ArrayList<String>();
    for (Node node : nodes) {
      List<String> refused = refusals(node, pod);
      refused.forEach(reason -> reasons.merge(reason, 1, Integer::sum));
      if (refused.isEmpty()) {
        left.add(node.name);
      }
    }
    if (!left.isEmpty()
        && world.filter().filter(pod, left, false)
            instanceof Filter.Answer.Nodes(List<String> fitting, var refused)) {
      if (!fitting.isEmpty()) {
        world.state.apply(new Event.Release(pod.uid()));
        return Optional.empty();
      }
      refused.forEach((reason, nodes) -> reasons.put(reason.sentence, nodes.size()));
    }
    List<String> counted = new ArrayList<>();
    reasons.forEach((reason, count) -> counted.add(count + " " + reason));
    return Optional.of(
        "0/%d nodes are available: %s. preemption: 0/%d nodes are available: %d No preemption victims found for incoming pod."
            .formatted(nodes.size(), String.join(", ", counted), nodes.size(), nodes.size()));
  }

  /** The first failing check of kube-scheduler ends the checks, but all resources are named. */
  private static List<String> refusals(Node node, PodFacts pod) {
    if (node.cordoned) {
      return List.of("node(s) were unschedulable");
    }
    if (node.tainted) {
      return List.of("node(s) had untolerated taint {team: a}");
    }
    boolean otherModel =
        pod.annotations().containsKey(Names.GPU_MODEL)
            && !pod.annotations().get(Names.GPU_MODEL).equals(node.model);
    boolean otherReplicas = pod.stampedReplicas().orElse(node.replicas) != node.replicas;
    if (node.otherLabel || otherModel || otherReplicas) {
      return List.of("node(s) didn't match Pod's node affinity/selector");
    }
    if (node.portTaken) {
      return List.of("node(s) didn't have free ports for the requested pod ports");
    }
    if (node.volumeElsewhere && node.free() >= pod.demand(node.replicas).peakReplicas()) {
      return List.of("node(s) had volume node affinity conflict");
    }
    var lacking = new ArrayList<String>();
    if (node.lacksCpu) {
      lacking.add("Insufficient cpu");
    }
    if (node.free() < pod.demand(node.replicas).peakReplicas()) {
      lacking.add("Insufficient " + Names.RESOURCE);
    }
    return lacking;
  }

  /** The pod as the watch shows it after such a try. */
  static PodFacts refused(PodFacts pod, String message) {
    return pod.with(SchedulerVerdict.of("Unschedulable", message, pod.resource()));
  }
}
