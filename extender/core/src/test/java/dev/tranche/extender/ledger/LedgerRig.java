package dev.tranche.extender.ledger;

import dev.tranche.api.Names;
import dev.tranche.extender.placement.Placement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** A Ledger, a clock that stands unless it is set, and a node of two GPUs of ten replicas each. */
abstract class LedgerRig {
  static final String NODE = "node-a";
  final Ledger ledger = new Ledger(Timing.DEFAULT, since1970Ms -> since1970Ms);
  long nowMs = 1_000;

  List<Decision> apply(Event event) {
    return ledger.apply(event, nowMs);
  }

  /** So much time passes, and then comes a tick. */
  List<Decision> pass(long ms) {
    nowMs += ms;
    return apply(new Event.Tick());
  }

  List<Decision> report(String node, Map<String, Map<String, Map<String, Integer>>> holdings) {
    return apply(reported(node, state(holdings, List.of())));
  }

  /** With a list that the kubelet has just made. */
  static Event reported(String node, NodeState state) {
    return new Event.Reported(node, state, OptionalLong.of(0));
  }

  int free(String uuid) {
    return view(uuid).freeReplicas();
  }

  int clients(String uuid) {
    return view(uuid).heldClients();
  }

  NodeView.Gpu view(String uuid) {
    return ledger.view(NODE, h -> true, nowMs).gpus().stream()
        .filter(g -> g.facts().uuid().equals(uuid))
        .findFirst()
        .orElseThrow();
  }

  static NodeState state(
      Map<String, Map<String, Map<String, Integer>>> holdings, List<Assignment> echoes) {
    return new NodeState(
        true, List.of(gpu("gpu-0", 0), gpu("gpu-1", 1)), holdings, true, Map.of(), echoes);
  }

  static GpuFacts gpu(String uuid, int index) {
    return gpu(uuid, index, 10);
  }

  static GpuFacts gpu(String uuid, int index, int replicas) {
    return TestFacts.gpu(uuid, index, replicas, 10L << 30);
  }

  static Assignment echo(String uid, String uuid) {
    return new Assignment(uid, "ns/" + uid, Names.RESOURCE, on(uuid, 3), 10, Map.of());
  }

  static Placement on(String uuid, int replicas) {
    var share = new Placement.Share(uuid, replicas);
    return Placement.of(List.of(new Placement.Container("main", List.of(share))));
  }

  static PodFacts pod(String uid, @Nullable String node) {
    return facts(uid, node, false, Map.of(Names.GPU_FRACTION, "0.3", Names.REPLICAS_PER_GPU, "10"));
  }

  static PodFacts pod(String uid, String node, String gpu) {
    return facts(uid, node, false, Map.of(Names.GPU, gpu, Names.REPLICAS_PER_GPU, "10"));
  }

  static PodFacts named(
      String uid, String name, @Nullable String node, boolean running, @Nullable String gpu) {
    var annotations = new HashMap<>(Map.of(Names.REPLICAS_PER_GPU, "10"));
    if (gpu != null) {
      annotations.put(Names.GPU, gpu);
    }
    PodFacts pod = TestFacts.pod(name, node, annotations, TestFacts.main(3));
    return Views.renewed(TestFacts.with(pod, false, running), uid);
  }

  static PodFacts ended(String uid, String node) {
    return facts(uid, node, true, Map.of());
  }

  static PodFacts facts(
      String uid, @Nullable String node, boolean ended, Map<String, String> annotations) {
    return TestFacts.with(TestFacts.pod(uid, node, annotations, TestFacts.main(3)), ended, false);
  }
}
