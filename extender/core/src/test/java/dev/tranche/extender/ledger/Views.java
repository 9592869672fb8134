package dev.tranche.extender.ledger;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Outcome;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Placer;
import dev.tranche.extender.placement.TestGpu;
import dev.tranche.extender.score.Policy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** How the {@link World}'s parts see pods and GPUs. */
final class Views {
  private Views() {}

  static Map<String, Map<String, Integer>> readBack(Placement real) {
    var containers = new HashMap<String, Map<String, Integer>>();
    for (Placement.Container container : real.containers()) {
      var held = new HashMap<String, Integer>();
      container.shares().forEach(s -> held.merge(s.uuid(), s.replicas(), Integer::sum));
      containers.put(container.name(), held);
    }
    return containers;
  }

  /** Of a node whose config never changes. */
  static NodeState state(
      boolean serving,
      List<GpuFacts> gpus,
      Map<String, Map<String, Map<String, Integer>>> listed,
      boolean listKnown,
      Collection<Assignment> kept) {
    var byUuid = new HashMap<String, NodeState.Grant>();
    gpus.forEach(gpu -> byUuid.put(gpu.uuid(), new NodeState.Grant(gpu.replicas(), false)));
    var grants = new HashMap<String, Map<String, NodeState.Grant>>();
    listed.keySet().forEach(key -> grants.put(key, byUuid));
    return new NodeState(serving, gpus, listed, listKnown, grants, List.copyOf(kept));
  }

  /** What init containers had stays the pod's. */
  static Placement kubelets(Demand demand, Placement place) {
    if (!demand.onOneGpu() || place.held().size() > 1) {
      return place;
    }
    String uuid = place.held().keySet().iterator().next();
    return new Placement(place.containers(), Map.of(uuid, demand.peakReplicas()));
  }

  static PodFacts facts(
      PodFacts pod,
      @Nullable String node,
      boolean ended,
      boolean running,
      Map<String, String> annotations) {
    return new PodFacts(
        pod.uid(),
        pod.namespace(),
        pod.name(),
        node,
        ended,
        running,
        pod.resource(),
        pod.requests(),
        annotations,
        pod.preemption(),
        SchedulerVerdict.NONE);
  }

  /** The same pod under another uid, as a mirror that was deleted comes again. */
  static PodFacts renewed(PodFacts pod, String uid) {
    return new PodFacts(
        uid,
        pod.namespace(),
        pod.name(),
        pod.node(),
        pod.ended(),
        pod.running(),
        pod.resource(),
        pod.requests(),
        pod.annotations(),
        PreemptionInfo.NONE,
        SchedulerVerdict.NONE);
  }

  static List<Demand.Request> requests(RandomGenerator random) {
    var requests = new ArrayList<Demand.Request>();
    if (random.nextInt(5) == 0) {
      requests.add(new Demand.Request("warm", Demand.Kind.INIT, 1 + random.nextInt(4)));
    }
    if (random.nextInt(5) == 0) {
      requests.add(new Demand.Request("proxy", Demand.Kind.SIDECAR, 1));
    }
    requests.add(new Demand.Request("main", Demand.Kind.APP, 1 + random.nextInt(5)));
    if (random.nextInt(4) == 0) {
      requests.add(new Demand.Request("second", Demand.Kind.APP, 1 + random.nextInt(3)));
    }
    return requests;
  }

  /** The same share on two GPUs, and a sidecar that has its own. */
  static List<Demand.Request> onEachOfTwo(RandomGenerator random) {
    var requests = new ArrayList<Demand.Request>();
    if (random.nextInt(3) == 0) {
      requests.add(new Demand.Request("proxy", Demand.Kind.SIDECAR, 1));
    }
    requests.add(new Demand.Request("main", Demand.Kind.APP, 2 + 2 * random.nextInt(4)));
    return requests;
  }

  /** The first GPU with room, as a plugin chooses that knows of no assignment. */
  static @Nullable Placement anywhere(World.Node node, Demand demand) {
    int peak = demand.peakReplicas();
    for (GpuFacts gpu : node.gpus) {
      if (node.used(gpu.uuid()) + peak <= gpu.replicas()) {
        var containers = new ArrayList<Placement.Container>();
        for (Demand.Container c : Placement.assignableContainers(demand)) {
          var share = new Placement.Share(gpu.uuid(), c.replicas());
          containers.add(new Placement.Container(c.name(), List.of(share)));
        }
        return new Placement(containers, Map.of(gpu.uuid(), peak));
      }
    }
    return null;
  }

  static Optional<Placement> place(Ledger ledger, PodFacts pod, String node, long nowMs) {
    NodeView view = ledger.view(node, h -> !h.uid().equals(pod.uid()), nowMs);
    if (view.availability() != NodeView.Availability.AVAILABLE) {
      return Optional.empty();
    }
    var gpus = view.gpus().stream().map(Views::gpu).toList();
    var request = pod.gpuRequest(ledger.replicasPerGpu(node, pod.resource()));
    return Placer.place(request, gpus, Policy.PACKED.order) instanceof Outcome.Fits(Placement place)
        ? Optional.of(place)
        : Optional.empty();
  }

  private static GpuView gpu(NodeView.Gpu gpu) {
    var facts = gpu.facts();
    return new TestGpu(facts.uuid())
        .index(facts.index())
        .replicas(facts.replicas(), gpu.freeReplicas())
        .cordoned(gpu.cordoned())
        .view();
  }

  /** What the webhook writes. */
  static Map<String, String> annotations(boolean stamped, boolean ofTwoGpus) {
    var annotations = new HashMap<String, String>();
    if (stamped) {
      annotations.put(Names.REPLICAS_PER_GPU, "10");
      annotations.put(Names.GPU_FRACTION, "0.1");
    }
    if (ofTwoGpus) {
      annotations.put(Names.GPU_COUNT, "2");
    }
    return annotations;
  }

  /** As its binding leaves it. */
  static PodFacts bound(PodFacts pod, World.Node node, Placement place) {
    var annotations = new HashMap<>(pod.annotations());
    annotations.put(Names.GPU, place.annotation());
    annotations.put(Names.GRANTED_REPLICAS, place.replicasAnnotation(uuid -> replicas(node, uuid)));
    return facts(pod, node.name, false, false, annotations);
  }

  private static int replicas(World.Node node, String uuid) {
    return node.gpus.stream()
        .filter(gpu -> gpu.uuid().equals(uuid))
        .mapToInt(GpuFacts::replicas)
        .findFirst()
        .orElseThrow();
  }

  /** Whether its annotations say all. Of a split init share they do not say who uses what. */
  static boolean annotated(PodFacts pod, World.Node node, Placement place) {
    return PlacementReader.byAnnotation(bound(pod, node, place), 10)
        .filter(PlacementReader.Found::exact)
        .isPresent();
  }
}
