package dev.tranche.extender.ledger;

import dev.tranche.extender.ledger.NodeView.Availability;
import dev.tranche.extender.placement.Placement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** One node's page of the Ledger. */
final class NodeInfo {
  /** The kubelet may still list a pod for so long after we have learnt of its end. */
  static final long KUBELET_LATE_MS = 5_000;

  /** Where two replicas do not agree, the one that is behind learns better within that. */
  private static final long REMIND_EVERY_MS = 5_000;

  final String name;

  /** By pod uid. */
  final Map<String, Hold> holds = new LinkedHashMap<>();

  /** Pods that ended here, by key. */
  final Map<String, Ended> ended = new HashMap<>();

  /**
   * @param atMs when we learnt of it
   * @param listedUntilMs until then the kubelet may still list it
   */
  record Ended(long atMs, long listedUntilMs) {}

  /**
   * Pods whose binding another replica has begun, by the node's echo, with the time when it was
   * first heard. For as long as they have a tentative hold.
   */
  final Map<String, Long> echoed = new HashMap<>();

  /** Pods that the API server was asked about, by uid: before then it is not asked again. */
  final Map<String, Long> checks = new HashMap<>();

  /** More assignments of pods that nobody knows are not believed: no kubelet waits for as many. */
  private static final int ECHOED_MAX = 1_024;

  /** What the last report has of assignments, by pod uid. */
  private Map<String, Assignment> echoes = Map.of();

  /** Of holds whose assignment was sent again, by uid: before then it is not once more. */
  final Map<String, Long> reminded = new HashMap<>();

  @Nullable NodeFacts facts;
  @Nullable NodeState state;

  /** When the kubelet made the list that the holdings of {@link #state} are of, at the latest. */
  private long listedAtMs = Long.MIN_VALUE / 2;

  /** As they came: of an ended pod {@link #state} has them no more. */
  private @Nullable Map<String, Map<String, Map<String, Integer>>> listed;

  boolean live;

  /** Another number after each change. */
  long version;

  private final ChangedNodes changes;
  private Map<String, NodeView.Gpu> room = Map.of();
  private long roomVersion = -1;

  NodeInfo(String name, ChangedNodes changes) {
    this.name = name;
    this.changes = changes;
    this.version = changes.of(name);
  }

  void changed() {
    version = changes.of(name);
  }

  Availability availability() {
    if (state == null || !live) {
      return Availability.SILENT;
    }
    return state.serving() ? Availability.AVAILABLE : Availability.NOT_SERVING;
  }

  /**
   * Whether a report repeats the last one, as every brief one does, and all that it tells of is
   * settled. Of thousands of nodes that report every five seconds, nearly all are like that.
   */
  @SuppressWarnings("ReferenceEquality") // What says the same is the same, see ReportReader.
  boolean hearsNothingNew(NodeState said, OptionalLong listAgeMs, long nowMs) {
    boolean nothing =
        live
            && state == said
            && said.holdingsKnown()
            && ended.isEmpty()
            && holds.values().stream().allMatch(Hold::confirmed)
            && said.echoes().stream().allMatch(echo -> holds.containsKey(echo.uid()));
    if (nothing) {
      listed(said, listAgeMs, nowMs);
    }
    return nothing;
  }

  /**
   * A node repeats its last list while its kubelet does not answer. One that does not say how old
   * the list is has made it at the latest when we first heard it.
   */
  private void listed(NodeState said, OptionalLong ageMs, long nowMs) {
    if (!said.holdingsKnown()) {
      return;
    }
    boolean another = listed == null || !listed.equals(said.holdings());
    if (ageMs.isPresent()) {
      listedAtMs = nowMs - ageMs.getAsLong();
    } else if (another) {
      listedAtMs = nowMs;
    }
    listed = said.holdings();
  }

  /** Whether the kubelet's list is new enough to tell of the pod, and not of an earlier one. */
  boolean tellsOf(Hold hold) {
    return listedAtMs >= hold.listedFromMs() && !listsAnEarlierPod(hold.key());
  }

  /**
   * @return whether it is the first since its stream was opened
   */
  boolean hear(NodeState said, OptionalLong listAgeMs, long nowMs) {
    boolean opened = !live;
    live = true;
    state = said.orHoldingsOf(state);
    echoes = byUid(said.echoes());
    listed(said, listAgeMs, nowMs);
    return opened;
  }

  private static Map<String, Assignment> byUid(List<Assignment> echoes) {
    var byUid = new HashMap<String, Assignment>();
    echoes.forEach(echo -> byUid.putIfAbsent(echo.uid(), echo));
    return byUid;
  }

  boolean believesMoreEchoes() {
    return echoed.size() < ECHOED_MAX;
  }

  /** Whether the node is to be told of an assignment again; now and then at most. */
  boolean remind(Hold hold, long nowMs) {
    boolean due = nowMs >= reminded.getOrDefault(hold.uid(), nowMs);
    if (!due || !live || !lacks(hold)) {
      return false;
    }
    reminded.put(hold.uid(), nowMs + REMIND_EVERY_MS);
    return true;
  }

  /** Whether it neither keeps the assignment nor has carried it out. */
  private boolean lacks(Hold hold) {
    return hold.exact() && !hold.confirmed() && !keeps(hold) && !carriedOut(hold);
  }

  private boolean keeps(Hold hold) {
    return echo(hold.uid())
        .filter(echo -> echo.placement().held().keySet().equals(hold.held().keySet()))
        .isPresent();
  }

  private boolean carriedOut(Hold hold) {
    return state != null && state.holdings().containsKey(hold.key()) && tellsOf(hold);
  }

  /** The most replicas that a GPU of a resource has; 1 while nothing is known. */
  int replicasPerGpu(String resource) {
    return state == null
        ? 1
        : state.gpus().stream()
            .filter(g -> PodFacts.takesFrom(resource, g.resource()))
            .mapToInt(GpuFacts::replicas)
            .max()
            .orElse(1);
  }

  /**
   * The R that a pod's shares are counted in on these GPUs. The GPUs of one resource may differ,
   * and the node's config may change before the pod is admitted. 0: not known.
   */
  int replicasPerGpu(PodFacts pod, Placement placement) {
    return pod.stampedReplicas()
        .orElseGet(
            () -> {
              int[] counts =
                  gpus().stream()
                      .filter(gpu -> placement.held().containsKey(gpu.uuid()))
                      .mapToInt(GpuFacts::replicas)
                      .distinct()
                      .toArray();
              return counts.length == 1 ? counts[0] : 0;
            });
  }

  private List<GpuFacts> gpus() {
    return state == null ? List.of() : state.gpus();
  }

  /** The same of a pod that was placed before, by its stamp or the node's echo. */
  int toldReplicasPerGpu(PodFacts pod) {
    return pod.stampedReplicas()
        .orElseGet(() -> echo(pod.uid()).map(Assignment::replicasPerGpu).orElse(0));
  }

  /** Whether what the node lists under this key may still be an earlier pod of the same name. */
  private boolean listsAnEarlierPod(String key) {
    Ended earlier = ended.get(key);
    return earlier != null && listedAtMs - earlier.atMs() < KUBELET_LATE_MS;
  }

  /** Where the pod's annotation puts it, or else the node's echo. */
  Optional<PlacementReader.Found> said(PodFacts pod) {
    Optional<PlacementReader.Found> annotated = annotated(pod);
    if (annotated.filter(PlacementReader.Found::exact).isPresent()) {
      return annotated;
    }
    // An annotation tells of a split share only which GPUs it is on; the echo also how it is split.
    Optional<PlacementReader.Found> echoed =
        echoed(pod).filter(e -> annotated.isEmpty() || e.onTheGpusOf(annotated.get()));
    return echoed.or(() -> annotated);
  }

  /** A plain request cannot be cut into shares before its node has said its R. */
  private Optional<PlacementReader.Found> annotated(PodFacts pod) {
    return state == null && pod.stampedReplicas().isEmpty()
        ? Optional.empty()
        : PlacementReader.byAnnotation(pod, replicasPerGpu(pod.resource()));
  }

  boolean echoes(String uid) {
    return echoes.containsKey(uid);
  }

  private Optional<PlacementReader.Found> echoed(PodFacts pod) {
    return echo(pod.uid())
        .map(a -> PlacementReader.byEcho(pod, a.placement(), replicasPerGpu(pod.resource())));
  }

  private Optional<Assignment> echo(String uid) {
    return Optional.ofNullable(echoes.get(uid));
  }

  boolean forgettable() {
    return facts == null && !live && holds.isEmpty() && ended.isEmpty();
  }

  NodeView view(Predicate<Hold> counted, long youngSinceMs) {
    return view(counted, List.of(), youngSinceMs);
  }

  /**
   * @param more that count, too
   */
  NodeView view(Predicate<Hold> counted, List<Hold> more, long youngSinceMs) {
    if (state == null) {
      return new NodeView(name, availability(), List.of());
    }
    Map<String, Stray> stray = stray();
    var gpus = new ArrayList<NodeView.Gpu>(state.gpus().size());
    List<Hold> all = new ArrayList<>(holds.size() + more.size());
    for (Hold hold : holds.values()) {
      if (counted.test(hold)) {
        all.add(hold);
      }
    }
    all.addAll(more);
    for (GpuFacts gpu : state.gpus()) {
      gpus.add(gpu(state, gpu, all, stray.getOrDefault(gpu.uuid(), Stray.NONE), youngSinceMs));
    }
    return new NodeView(name, availability(), gpus);
  }

  private NodeView.Gpu gpu(
      NodeState state, GpuFacts gpu, List<Hold> counted, Stray stray, long youngSinceMs) {
    int held = 0;
    int lost = 0;
    int clients = stray.clients();
    List<NodeView.Young> young = List.of();
    for (Hold hold : counted) {
      Integer here = hold.held().get(gpu.uuid());
      if (hold.placement() == null && PodFacts.takesFrom(hold.resource(), gpu.resource())) {
        lost += hold.replicas();
        // Each of its containers has one replica at least.
        clients += hold.replicas();
      } else if (here != null && hold.placement() != null) {
        // Unconfirmed: the list may still be of an earlier pod of that name.
        int retired = hold.confirmed() ? state.retired(hold.key(), gpu.uuid()) : 0;
        held += Math.max(0, here - retired);
        clients += clients(hold.placement(), gpu.uuid(), here);
        if (hold.sinceMs() >= youngSinceMs) {
          young = young.isEmpty() ? new ArrayList<>(2) : young;
          young.add(new NodeView.Young(hold.key(), here, hold.sinceMs()));
        }
      }
    }
    boolean byPeople = facts != null && facts.cordoned().contains(gpu.uuid());
    boolean cordoned = byPeople || !gpu.cordonReason().isEmpty();
    return new NodeView.Gpu(gpu, cordoned, held, stray.replicas() + lost, clients, young);
  }

  /** Where nobody knows which container is on the GPU, each of the replicas may be another's. */
  private static int clients(Placement placement, String uuid, int replicas) {
    return placement.containers().isEmpty() ? replicas : Math.max(1, placement.clients(uuid));
  }

  /** What pods have of a GPU that only the kubelet knows. */
  private record Stray(int replicas, int clients) {
    static final Stray NONE = new Stray(0, 0);

    Stray with(Stray other) {
      return new Stray(replicas + other.replicas, clients + other.clients);
    }
  }

  /** What the kubelet says is held by pods that we have not seen yet, per uuid. */
  private Map<String, Stray> stray() {
    if (state == null || state.holdings().isEmpty()) {
      return Map.of();
    }
    NodeState now = state;
    var known = new HashSet<String>();
    holds.values().forEach(h -> known.add(h.key()));
    var stray = new HashMap<String, Stray>();
    now.holdings()
        .forEach(
            (key, containers) -> {
              if (!known.contains(key) && !ended.containsKey(key)) {
                containers
                    .values()
                    .forEach(
                        devices ->
                            devices.forEach(
                                (uuid, n) -> stray.merge(uuid, new Stray(n, 1), Stray::with)));
                now.retired()
                    .getOrDefault(key, Map.of())
                    .forEach((uuid, n) -> stray.merge(uuid, new Stray(-n, 0), Stray::with));
              }
            });
    return stray;
  }

  /** What a new pod could get, per uuid; of an unchanged page the same map. */
  Map<String, NodeView.Gpu> room() {
    if (roomVersion != version) {
      room = roomNow();
      roomVersion = version;
    }
    return room;
  }

  private Map<String, NodeView.Gpu> roomNow() {
    if (availability() != Availability.AVAILABLE) {
      return Map.of();
    }
    var room = new HashMap<String, NodeView.Gpu>();
    for (NodeView.Gpu gpu : view(h -> true, Long.MAX_VALUE).gpus()) {
      if (gpu.facts().healthy() && !gpu.cordoned()) {
        room.put(gpu.facts().uuid(), gpu);
      }
    }
    return room;
  }
}
