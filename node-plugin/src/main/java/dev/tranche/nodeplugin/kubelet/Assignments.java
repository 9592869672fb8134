package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The assignments that this node still keeps: received, not yet confirmed by read-back, not
 * retracted, not expired. Confined to one thread. Times are milliseconds of a clock that only
 * rises.
 */
public final class Assignments {
  /** Far above what a node's kubelet may have waiting; a flood must not eat the heap. */
  static final int MAX = 4096;

  /** More than a node's pods start while an extender may not have heard of their confirmation. */
  private static final int CONFIRMED_MAX = 1024;

  /** Longer than a kubelet lags behind the API server. */
  static final int RETRACTED_MS = 60_000;

  private static final int RETRACTED_MAX = 1024;

  private final Map<String, PendingAssignment> byUid = new LinkedHashMap<>();

  /**
   * Those whose pods are gone and were not asked for. The kubelet takes up one change after the
   * other, so it may ask yet: with another answer it would take what later pods were assigned.
   */
  private final Map<String, PendingAssignment> retracted =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, PendingAssignment> eldest) {
          return size() > RETRACTED_MAX;
        }
      };

  /** Names by uid of pods that hold what they were assigned; the oldest are forgotten. */
  private final Map<String, String> confirmed =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, String> eldest) {
          return size() > CONFIRMED_MAX;
        }
      };

  private long receipts;
  private long lists;
  private @Nullable PodList last;

  /** Whether an assignment was taken, and if not, why. */
  public sealed interface Receipt {
    record Taken() implements Receipt {}

    record Refused(String reason) implements Receipt {}
  }

  /** What was kept, or says itself what its shares are counted in. */
  public Receipt receive(Assignment assignment, long nowMs) {
    return receive(assignment, UnaryOperator.identity(), nowMs);
  }

  /**
   * @param counted fills in the R that the shares are counted in now, where the sender does not say
   */
  public Receipt receive(Assignment assignment, UnaryOperator<Assignment> counted, long nowMs) {
    String pod = PendingAssignment.name(assignment);
    if (assignment.getExpiresInMs() == 0) {
      return new Receipt.Refused("the assignment of " + pod + " lacks its expiry");
    }
    PendingAssignment gone = retracted.get(assignment.getPodUid());
    PendingAssignment known = byUid.getOrDefault(assignment.getPodUid(), gone);
    if (known == null && byUid.size() >= MAX) {
      return new Receipt.Refused(
          "the assignment of " + pod + " is one too many: " + MAX + " are outstanding here");
    }
    byUid.put(
        assignment.getPodUid(),
        known == null
            ? received(counted.apply(assignment), nowMs)
            : known.renewed(assignment, counted, nowMs));
    retracted.remove(assignment.getPodUid());
    return new Receipt.Taken();
  }

  /** An extender that has just begun to lead sends again what is confirmed. */
  private PendingAssignment received(Assignment assignment, long nowMs) {
    boolean known = confirmed.containsKey(assignment.getPodUid());
    var pod =
        PendingAssignment.received(
            assignment,
            ++receipts,
            nowMs,
            heldByNamesake(assignment),
            !known && succeeds(assignment) ? nowMs + RETRACTED_MS : 0);
    return known ? pod.carriedOut() : pod;
  }

  /** Whether a pod of its name was assigned here before, which the kubelet may still have. */
  private boolean succeeds(Assignment assignment) {
    String uid = assignment.getPodUid();
    String name = PendingAssignment.name(assignment);
    return Stream.of(byUid, retracted)
            .flatMap(pods -> pods.values().stream())
            .map(PendingAssignment::assignment)
            .anyMatch(a -> !a.getPodUid().equals(uid) && PendingAssignment.name(a).equals(name))
        || confirmed.entrySet().stream()
            .anyMatch(of -> !of.getKey().equals(uid) && of.getValue().equals(name));
  }

  /** An extender that has just begun to lead sends again what is confirmed: that is no namesake. */
  private Map<String, Set<String>> heldByNamesake(Assignment assignment) {
    Map<String, Set<String>> held = new HashMap<>();
    if (last != null && !confirmed.containsKey(assignment.getPodUid())) {
      for (ContainerAssignment container : assignment.getContainersList()) {
        held.put(container.getContainer(), last.held(assignment, container));
      }
    }
    return held;
  }

  /** Whether there was one. */
  public boolean retract(String podUid, long nowMs) {
    PendingAssignment pod = byUid.remove(podUid);
    if (pod != null && !pod.refused()) {
      if (carriedOut(pod)) {
        confirmed.put(podUid, PendingAssignment.name(pod.assignment()));
      } else {
        retracted.put(podUid, pod.expiringAt(Math.min(pod.expiresAtMs(), nowMs + RETRACTED_MS)));
      }
    }
    return pod != null;
  }

  /** Whether the kubelet has asked for all of its containers. */
  private boolean carriedOut(PendingAssignment pod) {
    PodList list = last;
    return pod.assignment().getContainersList().stream()
        .filter(c -> c.getSharesCount() > 0)
        .allMatch(
            c -> pod.answered().contains(c.getContainer()) || (list != null && pod.holds(list, c)));
  }

  /** Whether any had expired. */
  public boolean expire(long nowMs) {
    retracted.values().removeIf(pod -> pod.expiresAtMs() <= nowMs);
    byUid.replaceAll(
        (uid, pod) ->
            pod.succeeds() && pod.succeedsUntilMs() <= nowMs ? pod.withoutPredecessor() : pod);
    return byUid.values().removeIf(pod -> pod.expiresAtMs() <= nowMs);
  }

  /** Takes note of which pods the kubelet knows by now. */
  void listed(PodList list) {
    lists++;
    last = list;
    for (var pods : List.of(byUid, retracted)) {
      pods.replaceAll((uid, pod) -> list.lists(pod.assignment()) ? pod.listed(lists) : pod);
    }
    byUid.replaceAll((uid, pod) -> list.holdsAny(pod.assignment()) ? pod : pod.withoutNamesake());
  }

  /** Drops those that the kubelet has carried out; whether there were any. */
  boolean confirm(PodList list) {
    List<String> done =
        byUid.entrySet().stream()
            .filter(pod -> confirmed(pod.getValue(), list))
            .map(Map.Entry::getKey)
            .toList();
    for (String uid : done) {
      confirmed.put(
          uid, PendingAssignment.name(Objects.requireNonNull(byUid.remove(uid)).assignment()));
    }
    return !done.isEmpty();
  }

  private static boolean confirmed(PendingAssignment pod, PodList list) {
    Assignment assignment = pod.assignment();
    return !pod.succeeds()
        && list.lists(assignment)
        && assignment.getContainersList().stream()
            .filter(c -> c.getSharesCount() > 0)
            .allMatch(
                c ->
                    pod.holds(list, c)
                        || (!list.lists(assignment, c)
                            && pod.answered().contains(c.getContainer())));
  }

  /**
   * @param orNamesake it may have been another pod of that name
   */
  void answered(String podUid, String container, boolean orNamesake) {
    update(
        podUid,
        pod ->
            orNamesake || container.isEmpty()
                ? pod.answered(container)
                : pod.answered(container).withoutPredecessor());
  }

  void refused(String podUid) {
    update(podUid, PendingAssignment::asRefused);
  }

  private void update(String podUid, UnaryOperator<PendingAssignment> step) {
    byUid.computeIfPresent(podUid, (uid, pod) -> step.apply(pod));
    retracted.computeIfPresent(podUid, (uid, pod) -> step.apply(pod));
  }

  /** Which pods the kubelet may ask for, those that are gone included. */
  List<PendingAssignment> expected() {
    return Stream.concat(retracted.values().stream(), byUid.values().stream()).toList();
  }

  List<PendingAssignment> outstanding() {
    return List.copyOf(byUid.values());
  }

  boolean isRetracted(String podUid) {
    return retracted.containsKey(podUid);
  }

  /** Whether a later pod has the name of one that is gone. */
  boolean isSucceeded(String podUid) {
    PendingAssignment pod = retracted.get(podUid);
    String name = pod == null ? "" : PendingAssignment.name(pod.assignment());
    return byUid.values().stream()
        .anyMatch(of -> PendingAssignment.name(of.assignment()).equals(name));
  }

  public int size() {
    return byUid.size();
  }

  /**
   * What is promised by uuid and not taken yet, this one container left out. Of a pod that was
   * taken for another, nobody has answered its container, and yet the List shows that it has its
   * devices.
   */
  Map<String, Integer> reserved(
      String resource, String exceptPodUid, String exceptContainer, Optional<PodList> list) {
    Map<String, Integer> reserved = new HashMap<>();
    for (PendingAssignment pod : byUid.values()) {
      if (!pod.refused() && pod.assignment().getResource().equals(resource)) {
        String except = pod.assignment().getPodUid().equals(exceptPodUid) ? exceptContainer : "";
        addReserved(pod, except, list, reserved);
      }
    }
    return reserved;
  }

  private static void addReserved(
      PendingAssignment pod, String except, Optional<PodList> list, Map<String, Integer> reserved) {
    for (ContainerAssignment container : pod.assignment().getContainersList()) {
      String name = container.getContainer();
      boolean taken =
          pod.answered().contains(name)
              || list.filter(shown -> pod.holds(shown, container)).isPresent();
      if (!taken && !name.equals(except)) {
        container
            .getSharesList()
            .forEach(s -> reserved.merge(s.getUuid(), s.getReplicas(), Integer::sum));
      }
    }
  }

  /** As they stand, each with the time that is left to it. */
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
