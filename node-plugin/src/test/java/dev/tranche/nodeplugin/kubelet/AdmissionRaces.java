package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.kubelet.ContainerPreferredAllocationRequest;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.podresources.ContainerDevices;
import dev.tranche.api.podresources.ContainerResources;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.api.podresources.PodResources;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A node in which pods come and go in an order that a seed decides: an API server, an extender that
 * assigns GPUs by what it has heard, and a kubelet that lags behind both. What is tested is ours,
 * between them: {@link AllocationCalls} and {@link Allocation}.
 *
 * <p>The kubelet takes up one change of the API server after the other, in their order. So a pod
 * that it admits may be gone already, and a successor of the same name be assigned.
 */
final class AdmissionRaces {
  private static final String RESOURCE = "nvidia.com/gpu";
  private static final int GPUS = 3;
  private static final int REPLICAS = 10;
  private static final int NAMES = 8;
  private static final int[] SIZES = {1, 1, 2, 3, 3, 5, 6, 10};
  private static final List<String> ALL =
      IntStream.range(0, GPUS * REPLICAS)
          .mapToObj(i -> "G" + i / REPLICAS + "::" + i % REPLICAS)
          .toList();

  /** A pod as the API server has it. */
  private static final class Pod {
    final String uid;
    final String name;
    final int size;
    String gpu = "";
    boolean assigned;
    boolean bound;
    boolean deleted;
    long boundAtMs;
    Set<String> ids = Set.of();

    /** The replicas by GPU that the extender believes it to have; empty before it is assigned. */
    Map<String, Integer> believed = Map.of();

    /** Whether its GPU is another one for a reason that nobody can help. */
    boolean excused;

    Pod(String uid, String name, int size) {
      this.uid = uid;
      this.name = name;
      this.size = size;
    }

    Assignment assignment() {
      GpuShare share = GpuShare.newBuilder().setUuid(gpu).setReplicas(size).build();
      return Assignment.newBuilder()
          .setPodUid(uid)
          .setNamespace("ns")
          .setPod(name)
          .setResource(RESOURCE)
          .setExpiresInMs(1_000_000)
          .addContainers(ContainerAssignment.newBuilder().setContainer("main").addShares(share))
          .addHeld(share)
          .build();
    }

    @Override
    public String toString() {
      return name + " (" + uid + ", " + size + " on " + gpu + ")";
    }
  }

  /** A change that the kubelet has not taken up yet. */
  private record Change(Pod pod, boolean removed) {}

  /** A read-back by names, and the uids that were still assigned then. */
  private record Report(Map<String, Set<String>> holdings, Set<String> outstanding, long atMs) {}

  private final Random random;
  private final double lateLists;
  private final Map<String, Pod> api = new LinkedHashMap<>();
  private final Deque<Change> changes = new ArrayDeque<>();
  private final Map<String, Pod> kubelet = new LinkedHashMap<>();
  private final Deque<String> retractions = new ArrayDeque<>();
  private final Deque<Report> reports = new ArrayDeque<>();
  private final List<String> history = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();
  private final Assignments assignments = new Assignments();
  private final AllocationCalls allocationCalls = new AllocationCalls(assignments, RESOURCE);
  private int pods;
  private int admitted;
  private int excused;
  private long nowMs;

  /**
   * @param lateLists how many of the Lists for a pod that waits are late, 0 to 1
   */
  AdmissionRaces(long seed, double lateLists) {
    this.random = new Random(seed);
    this.lateLists = lateLists;
  }

  /** Pods that the kubelet admitted. */
  int admitted() {
    return admitted;
  }

  /** Pods that were mistaken for others, which nobody can help, and those whose place they took. */
  int excused() {
    return excused;
  }

  /** What went wrong for pods that are still wanted. */
  List<String> failures() {
    return failures;
  }

  /** What happened before the first failure. */
  String history() {
    return String.join("\n", history.subList(Math.max(0, history.size() - 60), history.size()));
  }

  void run(int steps) {
    for (int i = 0; i < steps && failures.isEmpty(); i++) {
      nowMs += random.nextInt(50);
      assignments.expire(nowMs);
      switch (random.nextInt(20)) {
        case 0, 1, 2 -> create();
        case 3, 4, 5 -> assign();
        case 6, 7, 8 -> bind();
        case 9, 10, 11 -> takeUpChange();
        case 12 -> deleteByForce();
        case 13, 14 -> end();
        case 15 -> retractSome();
        case 16 -> readBack();
        case 17 -> reportSome();
        case 18 -> sendAgain();
        default -> nowMs += random.nextInt(500);
      }
    }
  }

  private void log(String what) {
    history.add(nowMs + " " + what);
  }

  private void create() {
    String name = "p" + random.nextInt(NAMES);
    if (api.values().stream().noneMatch(pod -> pod.name.equals(name))) {
      Pod pod = new Pod("u" + ++pods, name, SIZES[random.nextInt(SIZES.length)]);
      api.put(pod.uid, pod);
    }
  }

  private @Nullable Pod any(Stream<Pod> from) {
    List<Pod> list = from.toList();
    return list.isEmpty() ? null : list.get(random.nextInt(list.size()));
  }

  /** The node has the assignment before the pod is bound, as in {@code Bind}. */
  private void assign() {
    Pod pod = any(api.values().stream().filter(p -> !p.assigned));
    if (pod == null) {
      return;
    }
    List<String> candidates =
        IntStream.range(0, GPUS)
            .mapToObj(i -> "G" + i)
            .filter(gpu -> REPLICAS - promised(gpu) >= pod.size)
            .toList();
    int bound = api.values().stream().filter(p -> p.assigned).mapToInt(p -> p.size).sum();
    if (!candidates.isEmpty() && bound + pod.size <= ALL.size()) {
      pod.gpu = candidates.get(random.nextInt(candidates.size()));
      pod.assigned = true;
      pod.believed = Map.of(pod.gpu, pod.size);
      assignments.receive(pod.assignment(), nowMs);
      log("assigned " + pod);
    }
  }

  /** Of several under way, any may come first. */
  private void bind() {
    Pod pod = any(api.values().stream().filter(p -> p.assigned && !p.bound));
    if (pod != null) {
      pod.bound = true;
      pod.boundAtMs = nowMs;
      changes.add(new Change(pod, false));
      log("bound " + pod);
    }
  }

  private int promised(String gpu) {
    return api.values().stream().mapToInt(pod -> pod.believed.getOrDefault(gpu, 0)).sum();
  }

  private void takeUpChange() {
    Change change = changes.poll();
    if (change == null) {
      return;
    }
    if (change.removed()) {
      kubelet.remove(change.pod().uid);
      log("kubelet forgets " + change.pod());
      return;
    }
    kubelet.put(change.pod().uid, change.pod());
    admit(change.pod());
  }

  private List<String> free() {
    Set<String> taken =
        kubelet.values().stream().flatMap(p -> p.ids.stream()).collect(Collectors.toSet());
    return ALL.stream().filter(id -> !taken.contains(id)).toList();
  }

  private void admit(Pod pod) {
    List<String> free = free();
    if (free.size() < pod.size) {
      // The extender counts a node's replicas as kube-scheduler does, so this is the model's fault.
      throw new IllegalStateException("no room for " + pod + " in " + free);
    }
    boolean late = random.nextDouble() < lateLists;
    var request =
        ContainerPreferredAllocationRequest.newBuilder()
            .addAllAvailableDeviceIDs(free)
            .setAllocationSize(pod.size)
            .build();
    var preferred =
        allocationCalls.prefer(
            request,
            late ? Optional.empty() : Optional.of(list()),
            Optional.empty(),
            Map.of(),
            nowMs);
    if (random.nextInt(10) == 0) {
      retract();
    }
    Set<String> ids = picked(preferred.answer().ids(), free, pod.size);
    log(
        "kubelet asks for %s%s, was taken for %s and gets %s"
            .formatted(pod, late ? " without a List" : "", preferred.found(), ids));
    allocate(pod, ids);
  }

  /** The kubelet fills up what is missing as it likes. */
  private static Set<String> picked(List<String> preferred, List<String> free, int size) {
    return Stream.concat(preferred.stream(), free.stream())
        .distinct()
        .limit(size)
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  private void allocate(Pod pod, Set<String> ids) {
    boolean mistakable = lateLists > 0 || hasExpectedSuccessor(pod);
    boolean displaced = hasUnknownMistake();
    var verdict =
        AllocationTest.strict(GPUS, "G").decide(ids, allocationCalls.expected(pod.size, nowMs));
    switch (verdict) {
      case Allocation.Verdict.Granted granted -> {
        allocationCalls.granted(pod.size, nowMs);
        pod.ids = ids;
        admitted++;
        Map<String, Integer> on = byGpu(ids);
        if (on.size() > 1) {
          failed(pod, "split: " + on, displaced);
        } else if (!on.containsKey(pod.gpu)) {
          failed(pod, "on another GPU: " + on, mistakable || displaced);
        }
      }
      case Allocation.Verdict.Refused refused -> {
        allocationCalls.refused(pod.size, nowMs);
        failed(pod, refused.message(), displaced);
        kubelet.remove(pod.uid);
      }
    }
  }

  /** The kubelet's List has names only, so a later pod of the same name and size may be meant. */
  private boolean hasExpectedSuccessor(Pod pod) {
    return assignments.expected().stream()
        .map(PendingAssignment::assignment)
        .anyMatch(
            other ->
                number(other.getPodUid()) > number(pod.uid)
                    && other.getPod().equals(pod.name)
                    && PendingAssignment.size(other.getContainers(0)) == pod.size);
  }

  /**
   * Returns whether a pod is on another GPU, with an excuse, and the extender does not know yet.
   */
  private boolean hasUnknownMistake() {
    return kubelet.values().stream()
        .anyMatch(pod -> pod.excused && !byGpu(pod.ids).equals(pod.believed));
  }

  private static int number(String uid) {
    return Integer.parseInt(uid.substring(1));
  }

  private void failed(Pod pod, String how, boolean isExcused) {
    log((isExcused ? "excused " : "FAILED ") + pod + ": " + how);
    pod.excused = isExcused;
    if (isExcused) {
      excused++;
    } else if (!pod.deleted) {
      failures.add(pod + " " + how);
    }
  }

  private static Map<String, Integer> byGpu(Collection<String> ids) {
    return ids.stream().collect(Collectors.toMap(ReplicaId::uuidOf, id -> 1, Integer::sum));
  }

  /** The API server forgets it at once, the kubelet when it hears of it. */
  private void deleteByForce() {
    Pod pod = any(api.values().stream());
    if (pod != null) {
      gone(pod, "by force");
      if (pod.bound) {
        changes.add(new Change(pod, true));
      }
    }
  }

  /** The kubelet frees its devices, then the API server forgets it. */
  private void end() {
    Pod pod = any(kubelet.values().stream().filter(p -> !p.deleted && !p.ids.isEmpty()));
    if (pod != null) {
      gone(pod, "in order");
      kubelet.remove(pod.uid);
    }
  }

  private void gone(Pod pod, String how) {
    pod.deleted = true;
    api.remove(pod.uid);
    retractions.add(pod.uid);
    log("deleted " + how + " " + pod);
  }

  /** A stream's messages come in their order, some later than others. */
  private void retractSome() {
    do {
      retract();
    } while (random.nextInt(6) > 0);
  }

  private void retract() {
    String uid = retractions.poll();
    if (uid != null) {
      assignments.retract(uid, nowMs);
      log("retracted " + uid);
    }
  }

  private PodList list() {
    var list = ListPodResourcesResponse.newBuilder();
    for (Pod pod : kubelet.values()) {
      var container = ContainerResources.newBuilder().setName("main");
      if (!pod.ids.isEmpty()) {
        container.addDevices(
            ContainerDevices.newBuilder().setResourceName(RESOURCE).addAllDeviceIds(pod.ids));
      }
      list.addPodResources(
          PodResources.newBuilder().setNamespace("ns").setName(pod.name).addContainers(container));
    }
    return new PodList(list.build());
  }

  private void readBack() {
    PodList list = list();
    assignments.listed(list);
    assignments.confirm(list);
    Set<String> outstanding =
        assignments.remaining(nowMs).stream()
            .map(Assignment::getPodUid)
            .collect(Collectors.toCollection(TreeSet::new));
    Map<String, Set<String>> holdings = new HashMap<>();
    kubelet.values().stream()
        .filter(pod -> !pod.ids.isEmpty())
        .forEach(pod -> holdings.put(pod.name, pod.ids));
    reports.add(new Report(holdings, outstanding, nowMs));
  }

  private void reportSome() {
    do {
      report();
    } while (random.nextInt(4) > 0);
  }

  /** A hold moves to where the kubelet has its pod. */
  private void report() {
    Report report = reports.poll();
    if (report != null) {
      log("reported " + report);
      api.values().stream()
          .filter(pod -> pod.bound && pod.boundAtMs < report.atMs())
          .filter(pod -> !report.outstanding().contains(pod.uid))
          .filter(pod -> report.holdings().containsKey(pod.name))
          .forEach(pod -> pod.believed = byGpu(report.holdings().getOrDefault(pod.name, Set.of())));
    }
  }

  /** As a new leader does, or one that has not heard of the confirmation. */
  private void sendAgain() {
    Pod pod = any(api.values().stream().filter(p -> p.assigned));
    if (pod != null) {
      assignments.receive(pod.assignment(), nowMs);
      log("sent again " + pod);
    }
  }
}
