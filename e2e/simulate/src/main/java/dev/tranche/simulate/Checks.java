package dev.tranche.simulate;

import dev.tranche.api.GpuPart;
import dev.tranche.extender.invariant.Finding;
import dev.tranche.extender.invariant.Invariant;
import dev.tranche.extender.invariant.InvariantWatch;
import dev.tranche.extender.invariant.Invariants;
import dev.tranche.extender.invariant.ObservedCluster;
import dev.tranche.extender.ledger.Hold;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Checks the invariants: safety on a node at each step that could break it, and the rest once no
 * fault is under way.
 */
final class Checks {
  /** Longer than any bound of an invariant. */
  static final long AFTER_CALM_MS = 150_000;

  private static final long EVERY_MS = 5_000;

  private final World world;
  private final InvariantWatch watch = new InvariantWatch();
  private final Set<String> bound = new HashSet<>();
  private final Set<String> waited = new HashSet<>();
  private final List<Eviction> evictions = new ArrayList<>();
  private Optional<Finding> violation = Optional.empty();

  /** Pods that are evicted on a node for another pod. */
  private record Eviction(PodObject pod, String node, List<String> victims) {}

  Checks(World world) {
    this.world = world;
  }

  Optional<Finding> violation() {
    return violation;
  }

  int bound() {
    return bound.size();
  }

  int waited() {
    return waited.size();
  }

  void waits(PodObject pod) {
    waited.add(pod.uid());
  }

  void start() {
    world.api.pods.watch(this::checkEvictions);
    world.queue.after(world.scenario.faultless() ? 0 : world.scenario.calmMs(), this::checkAll);
  }

  private void checkAll() {
    List<Finding> findings =
        Invariants.all(cluster()).stream().filter(finding -> !isUnknowable(finding)).toList();
    broken(watch.update(findings, world.queue.nowMs()));
    world.queue.after(EVERY_MS, this::checkAll);
  }

  /** No list names an init container's GPUs, and the plugin may not know whose call it was. */
  private boolean isUnknowable(Finding finding) {
    return finding.invariant() == Invariant.HOLD_MATCHES_KUBELET
        && world.nodes.stream()
            .anyMatch(node -> node.kubelet.mayHaveUnlistedGpu(finding.subject()));
  }

  /** Something has changed on a node. */
  void check(String node) {
    world
        .node(node)
        .ifPresent(each -> broken(Invariants.safety(new ObservedCluster(podsOn(each), List.of()))));
  }

  /** A process has logged an error, or thrown an exception. */
  void bug(String sentence) {
    broken(Invariant.NO_ERROR_IS_LOGGED, "", sentence);
  }

  private void broken(Invariant invariant, String subject, String sentence) {
    broken(List.of(new Finding(invariant, subject, sentence)));
  }

  private void broken(List<Finding> findings) {
    if (violation.isEmpty() && !findings.isEmpty()) {
      violation = Optional.of(findings.getFirst());
      world.nodes.stream()
          .filter(node -> concerns(findings.getFirst().sentence(), node))
          .forEach(this::describe);
      world.history.add(
          "VIOLATION", findings.getFirst().invariant() + ": " + findings.getFirst().sentence());
    }
  }

  /** Whether a sentence names a node or one of its GPUs. */
  private static boolean concerns(String sentence, SimulatedNode node) {
    return Stream.concat(Stream.of(node.name), node.gpus.stream().map(gpu -> gpu.uuid))
        .anyMatch(name -> sentence.matches(".*\\b" + name + "\\b.*"));
  }

  /** Says what the replicas record of a node, for whoever reads the history. */
  private void describe(SimulatedNode node) {
    for (ExtenderReplica replica : world.extenders) {
      if (replica.running()) {
        var ledger = replica.core().ledger;
        world.history.add(
            replica.name,
            "%s; records of %s: %s; holds %s"
                .formatted(
                    replica == world.leader() ? "leads" : "does not lead",
                    node.name,
                    ledger.view(node.name, hold -> true, replica.clockMs()),
                    ledger.holds(node.name)));
        // A pod that is here may be recorded elsewhere.
        world.api.pods.all().stream()
            .filter(pod -> node.name.equals(pod.node()))
            .flatMap(pod -> ledger.hold(pod.uid()).stream())
            .filter(hold -> !hold.node().equals(node.name))
            .forEach(hold -> world.history.add(replica.name, "records " + hold));
      }
    }
  }

  void admitted(PodObject pod, Map<String, GpuPart> parts) {
    bound.add(pod.uid());
    if (!pod.promised().keySet().containsAll(parts.keySet())) {
      world.counts.count(Branch.DRIFT);
    }
  }

  void refused(PodObject pod, String why) {
    bound.add(pod.uid());
    if (world.scenario.faultless()) {
      broken(
          Invariant.BOUND_POD_IS_ADMITTED,
          pod.uid(),
          "pod %s is refused on node %s: %s".formatted(pod.key(), pod.node(), why));
    }
  }

  /** Others are evicted for a pod. Where nothing fails, it must fit as soon as they are gone. */
  void evicted(PodObject pod, String node, List<String> victims) {
    // Several containers may be on several GPUs.
    if (world.scenario.faultless() && pod.plan().requests().size() == 1) {
      evictions.add(new Eviction(pod, node, victims));
    }
  }

  private void checkEvictions() {
    for (Eviction each : List.copyOf(evictions)) {
      if (each.victims().stream().noneMatch(uid -> isThere(each.node(), uid))) {
        evictions.remove(each);
        check(each);
      }
    }
  }

  private boolean isThere(String node, String uid) {
    return world.api.pods.get(uid).filter(pod -> !pod.ended()).isPresent()
        || world.node(node).orElseThrow().kubelet.allParts().containsKey(uid);
  }

  private void check(Eviction eviction) {
    PodObject pod = world.api.pods.get(eviction.pod().uid()).orElse(null);
    SimulatedNode node = world.node(eviction.node()).orElseThrow();
    if (pod != null
        && pod.waits()
        && !world.scheduler.binds(pod)
        && node.name.equals(pod.nominated())
        && !mayHaveGivenWay(pod, node)
        && !fitsOn(pod, node, 0, Checks::granted)) {
      broken(
          Invariant.NOBODY_IS_EVICTED_IN_VAIN,
          pod.uid(),
          "pod %s does not fit on node %s, though %s were evicted for it"
              .formatted(pod.key(), node.name, eviction.victims()));
    }
  }

  /** kube-scheduler prefers pods of a higher priority to a nominated one. */
  private boolean mayHaveGivenWay(PodObject pod, SimulatedNode node) {
    return world.api.pods.all().stream()
        .filter(other -> node.name.equals(other.node()) && !other.ended())
        .anyMatch(other -> other.plan().priority() > pod.plan().priority());
  }

  // --- the cluster as it is ---

  /** Those that the API server has there, and those that only the kubelet still has. */
  private List<ObservedCluster.Pod> podsOn(SimulatedNode node) {
    var pods = new ArrayList<ObservedCluster.Pod>();
    Map<String, Map<String, GpuPart>> parts = node.kubelet.allParts();
    for (PodObject pod : world.api.pods.all()) {
      if (node.name.equals(pod.node())) {
        Map<String, GpuPart> has = parts.remove(pod.uid());
        pods.add(observed(node, pod, has));
      }
    }
    parts.forEach(
        (uid, has) ->
            pods.add(
                new ObservedCluster.Pod(
                    uid, uid, node.name, false, Map.of(), has, false, false, null)));
    return pods;
  }

  /**
   * @param has null of a pod that the kubelet does not know; it starts none whose time is over
   */
  private ObservedCluster.Pod observed(
      SimulatedNode node, PodObject pod, @Nullable Map<String, GpuPart> has) {
    boolean neverStarts =
        has == null && pod.terminating() && world.api.wallMs() > pod.deletionAtMs();
    return new ObservedCluster.Pod(
        pod.uid(),
        pod.key(),
        node.name,
        pod.ended() || neverStarts,
        pod.promised(),
        has == null ? Map.of() : has,
        node.kubelet.mayHaveAnotherGpu(pod.uid()),
        node.kubelet.startedOnUnhealthyGpu(pod.uid()),
        null);
  }

  private ObservedCluster cluster() {
    var pods = new ArrayList<ObservedCluster.Pod>();
    world.nodes.forEach(node -> pods.addAll(podsOn(node)));
    for (PodObject pod : world.api.pods.all()) {
      if (pod.waits()) {
        pods.add(
            new ObservedCluster.Pod(
                pod.uid(), pod.key(), null, false, Map.of(), Map.of(), false, false, fits(pod)));
      }
    }
    return new ObservedCluster(pods, holds());
  }

  private List<ObservedCluster.Hold> holds() {
    ExtenderReplica leader = world.leader();
    if (leader == null || !leader.leads()) {
      return List.of();
    }
    var holds = new ArrayList<ObservedCluster.Hold>();
    for (SimulatedNode node : world.nodes) {
      for (Hold hold : leader.core().ledger.holds(node.name)) {
        holds.add(new ObservedCluster.Hold(hold.uid(), hold.key(), node.name, counted(hold, node)));
      }
    }
    return holds;
  }

  /** Returns what a hold has, or what the kubelet gave where the hold may have more. */
  private Map<String, GpuPart> counted(Hold hold, SimulatedNode node) {
    Map<String, GpuPart> parts = recorded(hold, node);
    Map<String, GpuPart> has = node.kubelet.allParts().getOrDefault(hold.uid(), Map.of());
    return mayCountMore(hold, parts, has) ? has : parts;
  }

  private static Map<String, GpuPart> recorded(Hold hold, SimulatedNode node) {
    var parts = new HashMap<String, GpuPart>();
    int of = hold.replicasPerGpu() > 0 ? hold.replicasPerGpu() : node.plugin.replicas();
    hold.held().forEach((uuid, n) -> parts.put(uuid, GpuPart.of(n, of)));
    return parts;
  }

  /** Whether a hold there has more than the kubelet gave, as it may. */
  private boolean countsMore(SimulatedNode node) {
    ExtenderReplica leader = world.leader();
    return leader != null
        && leader.core().ledger.holds(node.name).stream()
            .anyMatch(hold -> !counted(hold, node).equals(recorded(hold, node)));
  }

  /**
   * Whether a hold may have more than the kubelet gave. A plugin that lost its state, or got no
   * List, cannot tell what a split init container has left; it then may be on each of the GPUs.
   */
  private boolean mayCountMore(Hold hold, Map<String, GpuPart> parts, Map<String, GpuPart> has) {
    return parts.size() > 1
        && parts.keySet().equals(has.keySet())
        && world.api.pods.get(hold.uid()).filter(pod -> pod.plan().hasInitContainer()).isPresent()
        && parts.entrySet().stream()
            .allMatch(
                part ->
                    has.getOrDefault(part.getKey(), GpuPart.NONE).value()
                        <= part.getValue().value());
  }

  /** Returns a node on which a waiting pod would fit, by what is really free there. */
  private @Nullable String fits(PodObject pod) {
    if (world.scheduler.forgets(pod)) {
      return null;
    }
    return world.nodes.stream()
        .filter(node -> fitsOn(pod, node, nominated(pod, node), this::withUse))
        .filter(node -> !countsMore(node))
        .map(node -> node.name)
        .findFirst()
        .orElse(null);
  }

  /**
   * @param kept replicas that nominated pods are to have there
   * @param leftToNobody what a pod, by its uid, leaves to nobody else of a part that it was granted
   */
  private boolean fitsOn(
      PodObject pod,
      SimulatedNode node,
      int kept,
      BiFunction<String, GpuPart, GpuPart> leftToNobody) {
    int replicas = node.plugin.replicas();
    int of = pod.plan().replicasPerGpu();
    @Nullable NodeObject object = world.api.nodes.get(node.name).orElse(null);
    if (object == null
        || !node.plugin.registered()
        || (of > 0 && of != replicas)
        || freeInTotal(node, object) < pod.plan().replicas() + kept) {
      return false;
    }
    Map<String, GpuPart> taken = new HashMap<>();
    for (ObservedCluster.Pod each : podsOn(node)) {
      if (!each.ended()) {
        Map<String, GpuPart> parts =
            each.allocated().isEmpty() ? each.promised() : each.allocated();
        parts.forEach(
            (uuid, part) -> taken.merge(uuid, leftToNobody.apply(each.uid(), part), GpuPart::plus));
      }
    }
    int wanted = pod.plan().replicas() + kept;
    IntStream free =
        node.gpus.stream()
            .filter(gpu -> gpu.healthy() && !object.cordoned().contains(gpu.uuid))
            .filter(gpu -> pod.plan().model().isEmpty() || pod.plan().model().equals(gpu.model))
            .mapToInt(
                gpu -> replicas - taken.getOrDefault(gpu.uuid, GpuPart.NONE).replicas(replicas));
    // A plain number may be split; with init containers only if no GPU could hold it.
    boolean split = of == 0 && (!pod.plan().hasInitContainer() || pod.plan().replicas() > replicas);
    return (split ? free.filter(left -> left > 0).sum() : free.max().orElse(0)) >= wanted;
  }

  /** Of evictions: the use of those that stay may grow after the victims were chosen. */
  private static GpuPart granted(String uid, GpuPart granted) {
    return granted;
  }

  /** Returns the grant, or the memory that the pod uses beyond it. */
  private GpuPart withUse(String uid, GpuPart granted) {
    int usedPercent = world.api.pods.get(uid).map(pod -> world.usedPercent(pod.plan())).orElse(100);
    BigInteger percent = BigInteger.valueOf(Math.max(100, usedPercent));
    return new GpuPart(
        granted.numerator().multiply(percent),
        granted.denominator().multiply(BigInteger.valueOf(100)));
  }

  /**
   * Returns the replicas of pods that are nominated there. kube-scheduler counts them for all pods
   * of no higher priority, and keeps a nomination as long as its dry run finds victims elsewhere.
   */
  private int nominated(PodObject forPod, SimulatedNode node) {
    return world.api.pods.all().stream()
        .filter(pod -> pod.waits() && node.name.equals(pod.nominated()))
        .filter(pod -> !pod.uid().equals(forPod.uid()))
        .filter(pod -> pod.plan().priority() >= forPod.plan().priority())
        .mapToInt(pod -> pod.plan().replicas())
        .sum();
  }

  private int freeInTotal(SimulatedNode node, NodeObject object) {
    return object.allocatable()
        - world.api.pods.all().stream()
            .filter(pod -> node.name.equals(pod.node()) && !pod.ended())
            .mapToInt(pod -> pod.plan().replicas())
            .sum();
  }
}
