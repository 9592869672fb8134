package dev.tranche.extender.ledger;

import dev.tranche.api.GpuPart;
import dev.tranche.extender.ledger.NodeState.Grant;
import dev.tranche.extender.ledger.NodeView.Availability;
import dev.tranche.extender.ledger.PlacementReader.Found;
import dev.tranche.extender.placement.Placement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The Ledger's entry for one node. */
final class NodeEntry {
  /** How long the kubelet may still list a pod after we have learnt of its end. */
  static final long KUBELET_LATE_MS = 5_000;

  /**
   * How long a kubelet may still accept a pod whose deletion its watch does not show. Until then
   * the pod counts, since its replicas would be promised twice.
   */
  private static final long ACCEPTED_LATE_MS = 60_000;

  /**
   * Minimum time between two sends of an assignment. Extender replicas that disagree about it agree
   * again within this time.
   */
  private static final long RESEND_EVERY_MS = 5_000;

  /** More replicas than a GPU has; a few times as many still fit into an int. */
  private static final int UNPLACED_MAX = 1 << 28;

  final String name;

  /** By pod uid. */
  final Map<String, Hold> holds = new LinkedHashMap<>();

  /** No hold expires before. */
  long expiresFromMs = Hold.NEVER;

  /** Pods that were deleted before the kubelet accepted them, by uid; see {@link UnstartedPods}. */
  private final Map<String, Unstarted> unstarted = new HashMap<>();

  /**
   * @param listedFromMs a list that was made from then on would have it, if it could still start
   */
  private record Unstarted(String key, long listedFromMs) {}

  /** Pods that ended here, by key. */
  final Map<String, Ended> ended = new HashMap<>();

  /**
   * @param atMs when we learnt of it
   * @param listedUntilMs until when the kubelet may still list the pod
   */
  record Ended(long atMs, long listedUntilMs) {}

  /**
   * Pods whose binding another extender replica has begun, with the time of the node's first echo.
   * An entry is removed with the pod's hold.
   */
  final Map<String, Long> echoed = new HashMap<>();

  /** By pod uid: the earliest time at which the API server may be asked about the pod again. */
  final Map<String, Long> checks = new HashMap<>();

  /**
   * Limit of echoed assignments of unknown pods; more are ignored, since no kubelet waits for as
   * many.
   */
  static final int ECHOED_MAX = 1_024;

  /** The assignments in the last report, by pod uid. */
  private Map<String, Assignment> echoes = Map.of();

  /**
   * Those of them whose pods are held on another node, since that one echoes them, too. Another
   * replica tries a failed bind again, and the pod may be bound on either node.
   */
  private Map<String, Assignment> contested = Map.of();

  /** By pod uid: the earliest time at which the pod's assignment may be sent again. */
  final Map<String, Long> resendFromMs = new HashMap<>();

  @Nullable NodeFacts facts;
  @Nullable NodeState state;

  /** The latest time at which the kubelet can have made the list of {@link #state}'s holdings. */
  private long listedAtMs = Long.MIN_VALUE / 2;

  /** The holdings as reported; those of ended pods are removed from {@link #state} only. */
  private @Nullable Map<String, Map<String, Map<String, Integer>>> listed;

  boolean live;

  /** Whether it is offered no pods, since it does not acknowledge assignments. */
  boolean backedOff;

  /** Changes with each change of the node. */
  long version;

  private final ChangedNodes changes;
  private Map<String, NodeView.Gpu> placeableGpus = Map.of();
  private long placeableGpusVersion = -1;

  /** The version in which it had no temporary hold. */
  private long lastingVersion = -1;

  NodeEntry(String name, ChangedNodes changes) {
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
    if (!state.serving()) {
      return Availability.NOT_SERVING;
    }
    return backedOff ? Availability.NOT_ACKNOWLEDGING : Availability.AVAILABLE;
  }

  /**
   * Returns whether a report repeats the last one, as every brief report does, and all its pods are
   * confirmed. Thousands of nodes report every five seconds, and nearly all reports are like that.
   */
  @SuppressWarnings("ReferenceEquality") // Equal states are the same object, see ReportReader.
  boolean repeatsLastReport(NodeState reported, OptionalLong listAgeMs, long nowMs) {
    boolean repeats =
        live
            && state == reported
            && reported.holdingsKnown()
            && ended.isEmpty()
            && holds.values().stream().allMatch(Hold::confirmed)
            && reported.echoes().stream().allMatch(echo -> holds.containsKey(echo.uid()));
    if (repeats) {
      recordList(reported, listAgeMs, nowMs);
    }
    return repeats;
  }

  /**
   * Records a list and its age. A node repeats its last list while its kubelet does not answer. A
   * list without an age is at most as recent as its first receipt.
   */
  private void recordList(NodeState reported, OptionalLong ageMs, long nowMs) {
    if (!reported.holdingsKnown()) {
      return;
    }
    boolean another = listed == null || !listed.equals(reported.holdings());
    if (ageMs.isPresent()) {
      listedAtMs = nowMs - ageMs.getAsLong();
    } else if (another) {
      listedAtMs = nowMs;
    }
    listed = reported.holdings();
  }

  /**
   * Returns whether the kubelet's list is recent enough to show this pod, and not an earlier one.
   */
  boolean listCovers(Hold hold) {
    return listedAtMs >= hold.listsCountFromMs() && !listsAnEarlierPod(hold.key());
  }

  /** Records that the pod was deleted before the kubelet accepted it. */
  void unstarted(PodFacts pod, long graceUntilMs) {
    unstarted.put(pod.uid(), new Unstarted(pod.key(), graceUntilMs + ACCEPTED_LATE_MS));
  }

  /** Forgets that the pod was deleted before its start: it has started, or is gone. */
  void started(String uid) {
    unstarted.remove(uid);
  }

  Set<String> unstartedPods() {
    return unstarted.keySet();
  }

  /** Returns whether the pod should be in the kubelet's list by now, and is not. */
  boolean neverStarts(String uid) {
    Unstarted pod = unstarted.get(uid);
    return pod != null
        && listed != null
        && listedAtMs >= pod.listedFromMs()
        && !listed.containsKey(pod.key());
  }

  /**
   * Applies a report.
   *
   * @return whether it is the first since the stream was opened
   */
  boolean applyReport(NodeState reported, OptionalLong listAgeMs, long nowMs) {
    boolean opened = !live;
    live = true;
    state = reported.orHoldingsOf(state);
    echoes = byUid(reported.echoes());
    contested = Map.of();
    recordList(reported, listAgeMs, nowMs);
    return opened;
  }

  /** Counts an assignment of the report that was just applied as use of its GPUs. */
  void contest(Assignment echo) {
    contested = contested.isEmpty() ? new HashMap<>() : contested;
    contested.put(echo.uid(), echo);
  }

  private static Map<String, Assignment> byUid(List<Assignment> echoes) {
    var byUid = new HashMap<String, Assignment>();
    echoes.forEach(echo -> byUid.putIfAbsent(echo.uid(), echo));
    return byUid;
  }

  /**
   * Returns whether the assignment must be sent to the node again. If so, it counts as sent: the
   * rate is limited for each pod.
   */
  boolean markResentIfDue(Hold hold, long nowMs) {
    boolean due =
        live
            && nowMs >= resendFromMs.getOrDefault(hold.uid(), nowMs)
            && hold.exact()
            && !hold.confirmed()
            && !keeps(hold)
            && !carriedOut(hold);
    if (due) {
      resendFromMs.put(hold.uid(), nowMs + RESEND_EVERY_MS);
    }
    return due;
  }

  private boolean keeps(Hold hold) {
    return echo(hold.uid())
        .filter(echo -> echo.placement().held().keySet().equals(hold.held().keySet()))
        .isPresent();
  }

  private boolean carriedOut(Hold hold) {
    return state != null && state.holdings().containsKey(hold.key()) && listCovers(hold);
  }

  /** Returns the largest R of the resource's GPUs; 1 while nothing is known. */
  int replicasPerGpu(String resource) {
    return gpus().stream()
        .filter(g -> PodFacts.countsAgainst(resource, g.resource()))
        .mapToInt(GpuFacts::replicas)
        .max()
        .orElse(1);
  }

  /**
   * Returns the R that a pod's shares are counted in on these GPUs; 0 if not known. The GPUs of one
   * resource may differ in R, and the node's config may change before the pod is admitted.
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

  List<GpuFacts> gpus() {
    return state == null ? List.of() : state.gpus();
  }

  Optional<GpuFacts> gpu(String uuid) {
    return gpus().stream().filter(gpu -> gpu.uuid().equals(uuid)).findFirst();
  }

  /** Returns the R of a placed pod, by its annotations or else the node's echo; 0 if not known. */
  int assignedReplicasPerGpu(PodFacts pod) {
    return pod.stampedReplicas()
        .orElseGet(
            () ->
                annotated(pod)
                    .map(Found::replicasPerGpu)
                    .filter(written -> written > 0)
                    .or(() -> echo(pod.uid()).map(Assignment::replicasPerGpu))
                    .orElse(0));
  }

  /** Returns whether the node may still list an earlier pod of the same name under this key. */
  private boolean listsAnEarlierPod(String key) {
    Ended earlier = ended.get(key);
    return earlier != null && listedAtMs - earlier.atMs() < KUBELET_LATE_MS;
  }

  /** Returns the placement by the pod's annotation, or else by the node's echo. */
  Optional<Found> claimedPlacement(PodFacts pod) {
    Optional<Found> annotated = annotated(pod);
    if (annotated.filter(Found::exact).isPresent()) {
      return annotated;
    }
    // The annotation of a split init container names only the GPUs; the echo tells how they are
    // used.
    Optional<Found> echoed =
        echoed(pod).filter(e -> annotated.isEmpty() || e.onTheGpusOf(annotated.get()));
    return echoed.or(() -> annotated);
  }

  /**
   * Reads the pod's annotation. A plain request cannot be divided into shares before its node has
   * reported R.
   */
  private Optional<Found> annotated(PodFacts pod) {
    return state == null && pod.stampedReplicas().isEmpty()
        ? Optional.empty()
        : PlacementReader.byAnnotation(pod, replicasPerGpu(pod.resource()));
  }

  boolean echoes(String uid) {
    return echoes.containsKey(uid);
  }

  private Optional<Found> echoed(PodFacts pod) {
    return echo(pod.uid()).map(echo -> new Found(echo.placement(), true, echo.replicasPerGpu()));
  }

  private Optional<Assignment> echo(String uid) {
    return Optional.ofNullable(echoes.get(uid));
  }

  /** Returns whether the API server knows the node, or it reports. */
  boolean known() {
    return facts != null || live;
  }

  boolean neverKnown() {
    return facts == null && state == null;
  }

  /** Forgets a deleted pod. If the kubelet goes on listing it, its GPU counts as used. */
  void forgetDeleted(String key) {
    Ended gone = ended.get(key);
    if (gone != null && gone.listedUntilMs() != Hold.NEVER) {
      ended.remove(key);
      changed();
    }
  }

  boolean forgettable() {
    return facts == null && !live && holds.isEmpty() && ended.isEmpty();
  }

  /**
   * @param more additional holds that count
   */
  NodeView view(Predicate<Hold> counted, List<Hold> more, long youngSinceMs) {
    if (state == null) {
      return new NodeView(availability(), List.of());
    }
    Map<String, List<Listed>> unknown = unknownUse();
    var gpus = new ArrayList<NodeView.Gpu>(state.gpus().size());
    List<Hold> all = new ArrayList<>(holds.size() + more.size());
    for (Hold hold : holds.values()) {
      if (counted.test(hold)) {
        all.add(hold);
      }
    }
    all.addAll(more);
    for (GpuFacts gpu : state.gpus()) {
      gpus.add(gpu(gpu, all, unknown.getOrDefault(gpu.uuid(), List.of()), youngSinceMs));
    }
    return new NodeView(availability(), gpus);
  }

  private NodeView.Gpu gpu(
      GpuFacts gpu, List<Hold> counted, List<Listed> unknown, long youngSinceMs) {
    var use = new UseOfGpu(gpu.replicas());
    int unplaced = 0;
    int clients = unknown.size();
    List<NodeView.Young> young = List.of();
    for (Listed listed : unknown) {
      use.addUnknown(listed.replicas(), listed.grant());
    }
    for (Hold hold : counted) {
      Integer here = hold.held().get(gpu.uuid());
      if (hold.placement() == null && isOf(hold, gpu)) {
        // Bounded: the sum of many large pods must not overflow and count as nothing.
        int parts = GpuPart.of(hold.replicas(), countedIn(hold, gpu)).replicas(gpu.replicas());
        unplaced = Math.min(UNPLACED_MAX, unplaced + parts);
        // An upper bound: each of its containers has at least one replica.
        clients = Math.min(UNPLACED_MAX, clients + hold.replicas());
      } else if (here != null && hold.placement() != null) {
        int countedIn = countedIn(hold, gpu);
        use.add(here, countedIn, isOf(hold, gpu), listed(hold));
        clients = Math.min(UNPLACED_MAX, clients + hold.clients(gpu.uuid()));
        if (hold.sinceMs() >= youngSinceMs) {
          young = young.isEmpty() ? new ArrayList<>(2) : young;
          young.add(new NodeView.Young(hold.key(), (double) here / countedIn, hold.sinceMs()));
        }
      }
    }
    boolean byPeople = facts != null && facts.cordoned().contains(gpu.uuid());
    boolean cordoned = byPeople || !gpu.cordonReason().isEmpty();
    return new NodeView.Gpu(
        gpu,
        cordoned,
        use.held,
        use.earlier(),
        use.withheld(withheldForOthers(gpu, unknown)),
        use.unknown + unplaced,
        clients,
        young);
  }

  /**
   * Returns the R that a hold's replicas on a GPU are counted in. What the node has granted counts
   * more than what the pod was sized for.
   */
  int countedIn(Hold hold, GpuFacts gpu) {
    // If the hold is not confirmed, the list may be of an earlier pod of that name.
    int granted = hold.confirmed() && state != null ? state.grant(hold.key(), gpu.uuid()).of() : 0;
    int known = granted > 0 ? granted : hold.replicasPerGpu();
    return known > 0 ? known : gpu.replicas();
  }

  /** Returns the R that all of a pod's replicas were granted in; 0 if not known, or several. */
  int grantedOf(Hold hold) {
    Set<Integer> counts =
        state == null
            ? Set.of()
            : state.grants().getOrDefault(hold.key(), Map.of()).values().stream()
                .map(Grant::of)
                .collect(Collectors.toSet());
    return counts.size() == 1 ? counts.iterator().next() : 0;
  }

  private static boolean isOf(Hold hold, GpuFacts gpu) {
    return PodFacts.countsAgainst(hold.resource(), gpu.resource());
  }

  private boolean listed(Hold hold) {
    return hold.confirmed() && state != null && state.holdings().containsKey(hold.key());
  }

  /**
   * Returns the replicas that the node withholds for more than the holds that are known here. A pod
   * that has ended here may still be on the node.
   */
  private int withheldForOthers(GpuFacts gpu, List<Listed> unknown) {
    if (gpu.withheldReplicas() == 0) {
      return 0;
    }
    var known = new UseOfGpu(gpu.replicas());
    for (Hold hold : holds.values()) {
      Integer here = hold.held().get(gpu.uuid());
      if (here != null && listed(hold)) {
        known.add(here, countedIn(hold, gpu), isOf(hold, gpu), true);
      }
    }
    for (Listed listed : unknown) {
      known.addUnknown(listed.replicas(), listed.grant());
    }
    return Math.max(0, gpu.withheldReplicas() - known.withheld(0));
  }

  /** What one container of a pod that only the kubelet knows holds of a GPU. */
  private record Listed(int replicas, Grant grant) {}

  /** Returns what pods use, per uuid, that no informer has shown here yet. */
  private Map<String, List<Listed>> unknownUse() {
    if (state == null || (state.holdings().isEmpty() && contested.isEmpty())) {
      return Map.of();
    }
    NodeState now = state;
    var known = new HashSet<String>();
    holds.values().forEach(h -> known.add(h.key()));
    var byUuid = new HashMap<String, List<Listed>>();
    now.holdings()
        .forEach(
            (key, containers) -> {
              if (!known.contains(key) && !ended.containsKey(key)) {
                for (Map<String, Integer> devices : containers.values()) {
                  devices.forEach(
                      (uuid, n) ->
                          byUuid
                              .computeIfAbsent(uuid, u -> new ArrayList<>())
                              .add(new Listed(n, now.grant(key, uuid))));
                }
              }
            });
    contested.values().stream()
        .filter(echo -> !known.contains(echo.key()) && !now.holdings().containsKey(echo.key()))
        .forEach(echo -> addContested(echo, byUuid));
    return byUuid;
  }

  private void addContested(Assignment echo, Map<String, List<Listed>> byUuid) {
    int of = echo.replicasPerGpu();
    echo.placement()
        .held()
        .forEach(
            (uuid, n) -> {
              boolean earlier = of > 0 && gpu(uuid).filter(gpu -> gpu.replicas() != of).isPresent();
              byUuid
                  .computeIfAbsent(uuid, u -> new ArrayList<>())
                  .add(new Listed(n, new Grant(of, earlier)));
            });
  }

  /** Returns the GPUs that can take new pods, by uuid; the same map while the node is unchanged. */
  Map<String, NodeView.Gpu> placeableGpus() {
    if (placeableGpusVersion != version) {
      placeableGpus = computePlaceableGpus();
      placeableGpusVersion = version;
    }
    return placeableGpus;
  }

  /** Time alone makes no hold temporary, so none is looked at again while the node is unchanged. */
  boolean hasTemporaryHolds(Predicate<Hold> temporary) {
    if (lastingVersion == version) {
      return false;
    }
    boolean has = holds.values().stream().anyMatch(temporary);
    lastingVersion = has ? -1 : version;
    return has;
  }

  /** Returns whether it is known that the node, as it is, has no temporary hold. */
  boolean onlyLastingHolds() {
    return lastingVersion == version;
  }

  private Map<String, NodeView.Gpu> computePlaceableGpus() {
    if (availability() != Availability.AVAILABLE) {
      return Map.of();
    }
    var placeable = new HashMap<String, NodeView.Gpu>();
    for (NodeView.Gpu gpu : view(h -> true, List.of(), Long.MAX_VALUE).gpus()) {
      if (gpu.facts().healthy() && !gpu.cordoned()) {
        placeable.put(gpu.facts().uuid(), gpu);
      }
    }
    return placeable;
  }
}
