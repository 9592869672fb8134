package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.GpuShare;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The assignments that this node still keeps: received, not yet confirmed by read-back, not
 * retracted, not expired. Confined to one thread. Times are milliseconds of a monotonic clock.
 */
public final class Assignments {
  /** More pods than start on a node before an extender learns that they are confirmed. */
  private static final int CONFIRMED_MAX = 1024;

  /** Longer than a kubelet lags behind the API server. */
  static final int RETRACTED_MS = 60_000;

  private final Map<String, PendingAssignment> byUid = new LinkedHashMap<>();

  /**
   * Assignments of deleted pods that the kubelet has not asked for. The kubelet handles changes one
   * by one, so it may still ask. With another answer it would take replicas that later pods were
   * assigned.
   */
  private final Map<String, PendingAssignment> retracted = new LinkedHashMap<>();

  /** Names by uid of pods that hold what they were assigned; the oldest entries are dropped. */
  private final Map<String, String> confirmed =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, String> eldest) {
          return size() > CONFIRMED_MAX;
        }
      };

  private long receipts;
  private long lists;
  private @Nullable PodList lastList;

  public void receive(Assignment assignment, long nowMs) {
    String uid = assignment.getPodUid();
    PendingAssignment pod = expected(uid).orElse(null);
    if (pod == null) {
      pod = received(assignment, nowMs);
    } else {
      pod.renew(assignment, nowMs);
    }
    byUid.put(uid, pod);
    retracted.remove(uid);
  }

  /** A newly elected extender sends confirmed assignments again. */
  private PendingAssignment received(Assignment assignment, long nowMs) {
    boolean known = confirmed.containsKey(assignment.getPodUid());
    var pod =
        new PendingAssignment(
            assignment,
            ++receipts,
            nowMs,
            heldBySameName(assignment),
            !known && hasPredecessor(assignment) ? nowMs + RETRACTED_MS : 0);
    if (known) {
      assignment.getContainersList().forEach(c -> pod.answered(c.getContainer(), true));
    }
    return pod;
  }

  /**
   * Returns whether an earlier pod of its name was assigned here, which the kubelet may still have.
   */
  private boolean hasPredecessor(Assignment assignment) {
    String uid = assignment.getPodUid();
    String name = PendingAssignment.name(assignment);
    return expected().stream()
            .anyMatch(pod -> !pod.assignment().getPodUid().equals(uid) && pod.name().equals(name))
        || confirmed.entrySet().stream()
            .anyMatch(of -> !of.getKey().equals(uid) && of.getValue().equals(name));
  }

  /**
   * Returns what a pod of the same name holds. A newly elected extender sends confirmed assignments
   * again, and those pods are no namesakes of themselves.
   */
  private Map<String, Set<String>> heldBySameName(Assignment assignment) {
    Map<String, Set<String>> held = new HashMap<>();
    if (lastList != null && !confirmed.containsKey(assignment.getPodUid())) {
      for (ContainerAssignment container : assignment.getContainersList()) {
        held.put(container.getContainer(), lastList.held(assignment, container));
      }
    }
    return held;
  }

  public void retract(String podUid, long nowMs) {
    PendingAssignment pod = byUid.remove(podUid);
    if (pod != null && !pod.refused()) {
      if (isFullyAllocated(pod) && !pod.hasPredecessor()) {
        confirmed.put(podUid, pod.name());
      } else {
        pod.expireBy(nowMs + RETRACTED_MS);
        retracted.put(podUid, pod);
      }
    }
  }

  /** Returns whether the kubelet has asked for all of its containers. */
  private boolean isFullyAllocated(PendingAssignment pod) {
    PodList list = lastList;
    return pod.containers().stream()
        .allMatch(
            c -> pod.answered().contains(c.getContainer()) || (list != null && pod.holds(list, c)));
  }

  /** Drops expired assignments and returns whether there were any. */
  public boolean expire(long nowMs) {
    retracted.values().removeIf(pod -> pod.expiresAtMs() <= nowMs);
    byUid.values().forEach(pod -> pod.expirePredecessor(nowMs));
    return byUid.values().removeIf(pod -> pod.expiresAtMs() <= nowMs);
  }

  /** Records which pods the kubelet knows by now. */
  void listed(PodList list) {
    lists++;
    lastList = list;
    for (PendingAssignment pod : expected()) {
      if (list.lists(pod.assignment())) {
        pod.listed(lists);
      }
      if (!list.holdsAny(pod.assignment())) {
        pod.forgetHeldBefore();
      }
    }
  }

  /** Drops the assignments that the kubelet has carried out, and returns whether there were any. */
  boolean confirm(PodList list) {
    List<PendingAssignment> done =
        byUid.values().stream().filter(pod -> confirmed(pod, list)).toList();
    done.forEach(pod -> confirmed.put(pod.assignment().getPodUid(), pod.name()));
    return byUid.values().removeAll(done);
  }

  private static boolean confirmed(PendingAssignment pod, PodList list) {
    Assignment assignment = pod.assignment();
    return !pod.hasPredecessor()
        && list.lists(assignment)
        && pod.containers().stream()
            .allMatch(
                c ->
                    pod.holds(list, c)
                        || (!list.lists(assignment, c)
                            && pod.answered().contains(c.getContainer())));
  }

  /**
   * @param nameAmbiguous whether it may have been another pod of that name
   */
  void answered(String podUid, String container, boolean nameAmbiguous) {
    expected(podUid).ifPresent(pod -> pod.answered(container, nameAmbiguous));
  }

  /**
   * A container has got what init containers pass on.
   *
   * @param before of the same pod
   */
  void tookOver(AdmittingPod.Found before, int size) {
    expected(before.podUid())
        .ifPresent(
            pod ->
                pod.unanswered().stream()
                    .filter(c -> PendingAssignment.size(c) == size)
                    .map(ContainerAssignment::getContainer)
                    .findFirst()
                    .ifPresent(name -> pod.answered(name, before.nameAmbiguous())));
  }

  void refused(String podUid) {
    expected(podUid).ifPresent(PendingAssignment::refuse);
  }

  /** Returns the assignments that the kubelet may ask for, including those of deleted pods. */
  List<PendingAssignment> expected() {
    return Stream.concat(retracted.values().stream(), byUid.values().stream()).toList();
  }

  List<PendingAssignment> outstanding() {
    return List.copyOf(byUid.values());
  }

  private Optional<PendingAssignment> expected(String podUid) {
    return Optional.ofNullable(byUid.getOrDefault(podUid, retracted.get(podUid)));
  }

  boolean isRetracted(String podUid) {
    return retracted.containsKey(podUid);
  }

  /** Returns whether a later pod has the name of this deleted one. */
  boolean hasSuccessor(String podUid) {
    PendingAssignment pod = retracted.get(podUid);
    return pod != null && byUid.values().stream().anyMatch(of -> of.name().equals(pod.name()));
  }

  public int size() {
    return byUid.size();
  }

  /**
   * Returns the replicas by GPU uuid that are assigned and not taken yet, except this one
   * container's. A container that the List shows with devices has taken them, even if its Allocate
   * was taken for another pod's.
   */
  Map<String, Integer> reserved(
      String resource, String exceptPodUid, String exceptContainer, Optional<PodList> list) {
    Map<String, Integer> reserved = new HashMap<>();
    for (PendingAssignment pod : byUid.values()) {
      boolean own = pod.assignment().getPodUid().equals(exceptPodUid);
      // The others of its pod take over what an init container has.
      boolean ofInit = own && exceptContainer.isEmpty();
      if (pod.mayAllocate(resource) && !ofInit) {
        addReserved(pod, own ? exceptContainer : "", list, reserved);
      }
    }
    return reserved;
  }

  private static void addReserved(
      PendingAssignment pod, String except, Optional<PodList> list, Map<String, Integer> reserved) {
    List<ContainerAssignment> open =
        pod.unanswered().stream()
            .filter(c -> list.filter(shown -> pod.holds(shown, c)).isEmpty())
            .toList();
    // Before its first container, the room of its init containers is not taken either.
    boolean begun = !pod.answered().isEmpty() || open.size() < pod.containers().size();
    Stream<GpuShare> shares =
        begun || !except.isEmpty()
            ? open.stream()
                .filter(c -> !c.getContainer().equals(except))
                .flatMap(c -> c.getSharesList().stream())
            : pod.assignment().getHeldList().stream();
    shares.forEach(s -> reserved.merge(s.getUuid(), s.getReplicas(), Integer::sum));
  }

  /** Returns the assignments that have not expired, each with its remaining time. */
  public List<Assignment> remaining(long nowMs) {
    return byUid.values().stream()
        .filter(pod -> pod.expiresAtMs() > nowMs)
        .map(
            pod ->
                pod.assignment().toBuilder()
                    .setExpiresInMs((int) (pod.expiresAtMs() - nowMs))
                    .build())
        .toList();
  }
}
