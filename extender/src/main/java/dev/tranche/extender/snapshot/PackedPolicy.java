package dev.tranche.extender.snapshot;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.tranche.api.Demand;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.GpuOrder;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Outcome;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Placer;
import dev.tranche.extender.score.packing.FreeCapacity;
import dev.tranche.extender.score.packing.HostCapacity;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.score.packing.Packer;
import dev.tranche.extender.score.packing.Shape;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Policy {@code packed}: the verbs' words for pods and nodes in terms of shapes and rooms. */
public final class PackedPolicy {
  private static final int WHOLE_MILLI = 1_000;

  private final HostCapacity hosts = new HostCapacity();

  private final Packer packer = new Packer();
  private final Map<String, Seen> rooms = new HashMap<>();

  /** What pods request beside GPUs, by uid: filter says it, and informers say it again later. */
  private final Cache<String, HostRequest> requests =
      // As in Explanations.
      Caffeine.newBuilder().maximumSize(50_000).executor(Runnable::run).build();

  /** A room, and what it was made of. */
  private record Seen(List<GpuView> gpus, HostRequest free, FreeCapacity room) {}

  /**
   * @param evaluation of the node that is to take the pod
   */
  public record Winner(NodeFit evaluation, Placement placement) {}

  /** Safe from any thread. */
  public void requested(String uid, HostRequest request) {
    requests.put(uid, request);
  }

  /** An informer's pod, whether it asks for a GPU or not. Safe from any thread. */
  public void podSeen(String uid, @Nullable String node, boolean ended, HostRequest request) {
    requested(uid, request);
    hosts.pod(uid, node, ended, request);
  }

  /** Safe from any thread. */
  public void podGone(String uid) {
    hosts.podGone(uid);
  }

  /** An informer's node. Safe from any thread. */
  public void nodeSeen(String node, HostRequest allocatable) {
    hosts.node(node, allocatable);
  }

  /** Safe from any thread. */
  public void nodeGone(String node) {
    hosts.nodeGone(node);
  }

  /** Pods whose CPU and memory on their nodes are known. */
  public int pods() {
    return hosts.pods();
  }

  /** Different shapes of pods that are told apart. */
  public int shapes() {
    return packer.shapes();
  }

  /** Nodes whose rooms are kept. */
  int rooms() {
    return rooms.size();
  }

  /** A bind counts at once: the informer shows it later. */
  public void follow(Event event) {
    switch (event) {
      case Event.BindStarted(PodFacts pod, String node, Placement placement) ->
          hosts.pod(pod.uid(), node, false, requests.get(pod.uid(), unknown -> HostRequest.NONE));
      case Event.BindFailed(String uid) -> hosts.podGone(uid);
      // No watch has shown its end, so none may ever.
      case Event.PodChecked checked when checked.pod() == null -> hosts.podGone(checked.uid());
      default -> {}
    }
  }

  public void forget(String node) {
    rooms.remove(node);
  }

  /** Counts the pod once, as one of those that may come again. */
  public void learn(PodFacts pod, int nodeReplicas) {
    Demand demand = pod.demand(nodeReplicas);
    if (!demand.isEmpty()) {
      packer.learn(pod.uid(), shape(pod, pod.ask(nodeReplicas)));
    }
  }

  /** The best of the nodes that fit. */
  public Optional<Winner> choose(PodFacts pod, List<NodeFit> fitting) {
    if (fitting.isEmpty()) {
      return Optional.empty();
    }
    Shape shape = shape(pod, fitting.getFirst().ask());
    packer.learn(pod.uid(), shape);
    return best(shape, fitting);
  }

  /** What {@link #choose} would answer, without counting the pod. */
  public Optional<Winner> preview(HostRequest host, List<NodeFit> fitting) {
    return fitting.isEmpty()
        ? Optional.empty()
        : best(shape(host, fitting.getFirst().ask()), fitting);
  }

  private Optional<Winner> best(Shape shape, List<NodeFit> fitting) {
    List<FreeCapacity> candidates = fitting.stream().map(e -> room(e.node(), e.gpus())).toList();
    return packer
        .choose(shape, candidates)
        .flatMap(choice -> winner(fitting.get(choice.index()), choice.leastMilli()))
        .or(() -> winner(fitting.getFirst(), 0));
  }

  /**
   * For a pod that asks for no GPU: the nodes where its CPU and memory are missed least, all alike.
   */
  public List<String> chooseWithoutGpu(
      HostRequest request, List<String> names, Function<String, List<GpuView>> gpus) {
    List<FreeCapacity> candidates =
        names.stream().map(name -> room(name, gpus.apply(name))).toList();
    Shape shape = Shape.withoutGpu(request.cpuMilli(), request.memoryMib());
    return packer.cheapest(shape, candidates).stream().map(names::get).toList();
  }

  private static Optional<Winner> winner(NodeFit evaluation, int leastMilli) {
    GpuOrder order =
        share ->
            Comparator.comparing((GpuView gpu) -> freeMilli(gpu) < leastMilli)
                .thenComparingInt(PackedPolicy::freeMilli)
                .thenComparingInt(GpuView::index);
    return Placer.place(evaluation.ask(), evaluation.gpus(), order)
            instanceof Outcome.Fits(Placement placement)
        ? Optional.of(new Winner(evaluation, placement))
        : Optional.empty();
  }

  /** Containers together; different shares all count as the largest. */
  private Shape shape(PodFacts pod, GpuRequest ask) {
    return shape(requests.get(pod.uid(), unknown -> HostRequest.NONE), ask);
  }

  private static Shape shape(HostRequest host, GpuRequest ask) {
    Demand demand = ask.demand();
    List<Integer> shares =
        demand.onOneGpu()
            ? List.of(Math.min(demand.peakReplicas(), demand.replicasPerGpu()))
            : demand.containers().stream().flatMap(c -> c.shares().stream()).toList();
    int largest = shares.stream().mapToInt(Integer::intValue).max().orElse(1);
    int milli = Math.clamp((long) largest * WHOLE_MILLI / demand.replicasPerGpu(), 1, WHOLE_MILLI);
    return new Shape(host.cpuMilli(), host.memoryMib(), shares.size(), milli, ask.models());
  }

  /** Made anew only when something about the node has changed. */
  @SuppressWarnings("ReferenceEquality") // An unchanged node has the same list of GPUs.
  private FreeCapacity room(String node, List<GpuView> gpus) {
    HostRequest free = hosts.free(node);
    @Nullable Seen before = rooms.get(node);
    if (before != null && before.gpus() == gpus && before.free().equals(free)) {
      return before.room();
    }
    String model = gpus.isEmpty() ? "" : gpus.getFirst().model();
    int[] milli = gpus.stream().mapToInt(PackedPolicy::freeMilli).toArray();
    var room = new FreeCapacity(model, free.cpuMilli(), free.memoryMib(), milli);
    // kube-scheduler may name a node that has just gone: nobody would forget it.
    if (hosts.knows(node)) {
      rooms.put(node, new Seen(gpus, free, room));
    }
    return room;
  }

  private static int freeMilli(GpuView gpu) {
    int free = Math.min(gpu.freeReplicas(), gpu.replicasByMemory());
    return gpu.healthy() && !gpu.cordoned()
        ? (int) ((long) free * WHOLE_MILLI / gpu.replicas())
        : 0;
  }
}
