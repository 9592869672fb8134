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
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Policy {@code packed}: translates pods and nodes into the {@link Packer}'s shapes and free
 * capacities.
 */
public final class PackedPolicy {
  private static final int WHOLE_MILLI = 1_000;

  /** Safe from any thread. */
  public final HostCapacity hosts = new HostCapacity();

  private final Packer packer = new Packer();
  private final NodeFailures failures;
  final Map<String, CachedCapacity> capacities = new HashMap<>();

  /** What pods request beside GPUs, by uid; set by filter, and again later by the informers. */
  private final Cache<String, HostRequest> requests =
      // The cleanup costs less than waking another thread for it.
      Caffeine.newBuilder().maximumSize(50_000).executor(Runnable::run).build();

  /** A node's free capacity, and the inputs that it was computed from. */
  record CachedCapacity(List<GpuView> gpus, HostRequest free, FreeCapacity capacity) {}

  public PackedPolicy(NodeFailures failures) {
    this.failures = failures;
  }

  /**
   * @param evaluation of the node that is to take the pod
   */
  public record Winner(NodeFit evaluation, Placement placement) {}

  /** Safe from any thread. */
  public void requested(String uid, HostRequest request) {
    requests.put(uid, request);
  }

  /** Records a pod from an informer, whether it requests a GPU or not. Safe from any thread. */
  public void podSeen(String uid, @Nullable String node, boolean ended, HostRequest request) {
    requested(uid, request);
    hosts.pod(uid, node, ended, request);
  }

  /** Returns the number of different shapes of pods. */
  public int shapes() {
    return packer.shapes();
  }

  /** Counts a bind at once, since the informer shows it later. */
  public void apply(Event event) {
    switch (event) {
      case Event.BindStarted(PodFacts pod, String node, Placement placement) ->
          hosts.pod(pod.uid(), node, false, requests.get(pod.uid(), unknown -> HostRequest.NONE));
      case Event.BindFailed(String uid) -> hosts.podGone(uid);
      // No watch has shown the pod's end, and perhaps none ever will.
      case Event.PodChecked(String uid, String key, var pod, long requestedAtMs)
          when pod == null || pod.ended() ->
          hosts.podGone(uid);
      default -> {}
    }
  }

  public void forget(String node) {
    capacities.remove(node);
  }

  /** Counts the pod once, as one of those that may come again. */
  public void learn(PodFacts pod, int nodeReplicas) {
    Demand demand = pod.demand(nodeReplicas);
    if (!demand.isEmpty()) {
      packer.learn(pod.uid(), shape(pod, pod.gpuRequest(nodeReplicas)));
    }
  }

  /** Returns the best of the nodes that fit, and counts the pod. */
  public Optional<Winner> choose(PodFacts pod, List<NodeFit> fitting) {
    if (fitting.isEmpty()) {
      return Optional.empty();
    }
    Shape shape = shape(pod, fitting.getFirst().request());
    packer.learn(pod.uid(), shape);
    return best(shape, fitting);
  }

  /** Returns what {@link #choose} would return, without counting the pod. */
  public Optional<Winner> preview(HostRequest host, List<NodeFit> fitting) {
    return fitting.isEmpty()
        ? Optional.empty()
        : best(shape(host, fitting.getFirst().request()), fitting);
  }

  private Optional<Winner> best(Shape shape, List<NodeFit> fitting) {
    var candidates = new Candidates<>(fitting, NodeFit::node, NodeFit::gpus);
    return packer
        .choose(shape, candidates.capacities)
        .flatMap(choice -> winner(candidates.nodes.get(choice.index()), choice.leastMilli()))
        .or(() -> candidates.nodes.stream().findFirst().flatMap(first -> winner(first, 0)));
  }

  /** Nodes with their free capacity. One that causes an exception is none. */
  private final class Candidates<T> {
    private final List<T> nodes;
    private final List<FreeCapacity> capacities;

    Candidates(List<T> all, Function<T, String> name, Function<T, List<GpuView>> gpus) {
      this.nodes = new ArrayList<>(all.size());
      this.capacities = new ArrayList<>(all.size());
      for (T node : all) {
        try {
          capacities.add(capacity(name.apply(node), gpus.apply(node)));
          nodes.add(node);
        } catch (RuntimeException bug) {
          failures.failed(name.apply(node), bug);
        }
      }
    }
  }

  /**
   * Returns the nodes that can best spare the CPU and memory of a pod that requests no GPU; all are
   * equally good.
   */
  public List<String> chooseWithoutGpu(
      HostRequest request, List<String> names, Function<String, List<GpuView>> gpus) {
    var candidates = new Candidates<>(names, name -> name, gpus);
    Shape shape = Shape.withoutGpu(request.cpuMilli(), request.memoryMib());
    return packer.cheapest(shape, candidates.capacities).stream()
        .map(candidates.nodes::get)
        .toList();
  }

  private Optional<Winner> winner(NodeFit evaluation, int leastMilli) {
    GpuOrder order =
        share ->
            Comparator.comparing((GpuView gpu) -> freeMilli(gpu) < leastMilli)
                .thenComparingInt(PackedPolicy::freeMilli)
                .thenComparingInt(GpuView::index);
    try {
      return Placer.place(evaluation.request(), evaluation.gpus(), order)
              instanceof Outcome.Fits(Placement placement)
          ? Optional.of(new Winner(evaluation, placement))
          : Optional.empty();
    } catch (RuntimeException bug) {
      failures.failed(evaluation.node(), bug);
      return Optional.empty();
    }
  }

  /**
   * Returns the pod's shape, its containers taken together; different shares all count as the
   * largest.
   */
  private Shape shape(PodFacts pod, GpuRequest request) {
    return shape(requests.get(pod.uid(), unknown -> HostRequest.NONE), request);
  }

  private static Shape shape(HostRequest host, GpuRequest request) {
    Demand demand = request.demand();
    int gpus = 1;
    int largest = Math.min(demand.peakReplicas(), demand.replicasPerGpu());
    if (!demand.onOneGpu()) {
      gpus = demand.containers().stream().mapToInt(Demand.Container::gpus).sum();
      largest =
          demand.containers().stream()
              .mapToInt(c -> c.shares().getFirst().replicas())
              .max()
              .orElse(1);
    }
    int milli = Math.clamp((long) largest * WHOLE_MILLI / demand.replicasPerGpu(), 1, WHOLE_MILLI);
    return new Shape(host.cpuMilli(), host.memoryMib(), gpus, milli, request.models());
  }

  /**
   * Returns the node's free capacity; computed again only if something about the node has changed.
   */
  @SuppressWarnings("ReferenceEquality") // An unchanged node has the same list of GPUs.
  private FreeCapacity capacity(String node, List<GpuView> gpus) {
    HostRequest free = hosts.free(node);
    @Nullable CachedCapacity before = capacities.get(node);
    if (before != null && before.gpus() == gpus && before.free().equals(free)) {
      return before.capacity();
    }
    String model = gpus.isEmpty() ? "" : gpus.getFirst().model();
    int[] milli = gpus.stream().mapToInt(PackedPolicy::freeMilli).toArray();
    var capacity = new FreeCapacity(model, free.cpuMilli(), free.memoryMib(), milli);
    // kube-scheduler may name a node that is just gone: nothing would remove its entry.
    if (hosts.knows(node)) {
      capacities.put(node, new CachedCapacity(gpus, free, capacity));
    }
    return capacity;
  }

  private static int freeMilli(GpuView gpu) {
    int free = Math.min(gpu.freeReplicas(), gpu.replicasByMemory());
    return gpu.takesPods() ? (int) ((long) free * WHOLE_MILLI / gpu.replicas()) : 0;
  }
}
