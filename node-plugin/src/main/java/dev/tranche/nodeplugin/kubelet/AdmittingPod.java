package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.GpuShare;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Which pod, and which of its containers, the kubelet is asking for. Its calls do not say.
 *
 * <p>The kubelet makes one pod known to itself, then admits it, container by container, before it
 * takes up the next. So the pod is among those that a PodResources List shows, that were assigned
 * here, and that have a container without devices. Of several (one may have been rejected for
 * another reason and linger) it is the one whose next container asks for just this many, and of
 * those the one that came to the kubelet last.
 */
final class AdmittingPod {
  /** How sure we are; a label of a metric. */
  enum How {
    /** The List shows it. */
    LISTED,
    /** The List shows several that it could be. */
    AMBIGUOUS,
    /** There was no List: by size, the oldest first. */
    SIZE_AND_AGE
  }

  /** How well a container of a candidate matches the question; the better first. */
  private enum Match {
    NEXT,
    LATER,
    /** Of no container that was assigned: an init container of a pod that is all on one GPU. */
    ONE_GPU
  }

  /**
   * @param container empty for an init container that the assignment does not name
   * @param shares that the container is to get
   * @param replicasPerGpu R that they are counted in; 0: not known
   * @param orNamesake it may as well be another pod of the same name that asks for as much
   */
  record Found(
      String podUid,
      String container,
      List<GpuShare> shares,
      int replicasPerGpu,
      How how,
      boolean orNamesake) {
    Found asNamesake() {
      return new Found(podUid, container, shares, replicasPerGpu, how, true);
    }

    /** For the log. */
    @Override
    public String toString() {
      String of =
          shares.stream()
              .map(share -> share.getReplicas() + " of " + share.getUuid())
              .collect(Collectors.joining(" and "));
      return "pod " + podUid + (container.isEmpty() ? "" : " container " + container) + ": " + of;
    }
  }

  /**
   * @param taken a container of its names holds devices already, so it is asked for only if that is
   *     a predecessor's
   */
  private record Candidate(
      PendingAssignment pod,
      String container,
      List<GpuShare> shares,
      Match match,
      boolean taken,
      boolean namesake) {
    Candidate orNamesake() {
      return new Candidate(pod, container, shares, match, taken, true);
    }

    Found found(How how) {
      Assignment of = pod.assignment();
      return new Found(of.getPodUid(), container, shares, of.getReplicasPerGpu(), how, namesake);
    }
  }

  private static final Comparator<Candidate> LIKELIEST =
      Comparator.comparing(Candidate::taken)
          .thenComparing(Candidate::match)
          .thenComparingLong(c -> -c.pod().firstListed())
          .thenComparingLong(c -> -c.pod().order());

  private static final Comparator<Candidate> OLDEST =
      Comparator.comparing((Candidate c) -> c.pod().answered().isEmpty())
          .thenComparingLong(c -> c.pod().order());

  private AdmittingPod() {}

  /**
   * Finds it in a List.
   *
   * @param size how many replicas are asked for
   */
  static Optional<Found> find(
      Collection<PendingAssignment> pods, PodList list, String resource, int size) {
    List<Candidate> candidates =
        pods.stream()
            .filter(pod -> possible(pod, resource) && list.lists(pod.assignment()))
            .flatMap(
                pod ->
                    candidate(pod, waiting(pod, list), size, c -> list.holds(pod.assignment(), c)))
            .collect(
                Collectors.toMap(
                    c -> PendingAssignment.name(c.pod().assignment()),
                    c -> c,
                    AdmittingPod::ofOneName))
            .values()
            .stream()
            .sorted(LIKELIEST)
            .toList();
    How how = ambiguous(candidates) ? How.AMBIGUOUS : How.LISTED;
    return candidates.stream().findFirst().map(c -> c.found(how));
  }

  /** Guesses without a List: the pod that is half answered, else the one assigned first. */
  static Optional<Found> guess(Collection<PendingAssignment> pods, String resource, int size) {
    return pods.stream()
        .filter(pod -> possible(pod, resource))
        .flatMap(pod -> candidate(pod, unanswered(pod), size, c -> false))
        .filter(c -> c.match() != Match.ONE_GPU)
        .min(OLDEST)
        .map(c -> c.found(How.SIZE_AND_AGE));
  }

  /** The name is all that a List tells. The later pod stays, as the other may never come. */
  private static Candidate ofOneName(Candidate one, Candidate other) {
    if (one.match() != other.match()) {
      return one.match().compareTo(other.match()) < 0 ? one : other;
    }
    return (one.pod().order() > other.pod().order() ? one : other).orNamesake();
  }

  private static boolean possible(PendingAssignment pod, String resource) {
    return !pod.refused() && pod.assignment().getResource().equals(resource);
  }

  private static boolean ambiguous(List<Candidate> candidates) {
    return candidates.size() > 1
        && candidates.get(0).taken() == candidates.get(1).taken()
        && candidates.get(0).match() == candidates.get(1).match()
        && candidates.get(0).pod().firstListed() == candidates.get(1).pod().firstListed();
  }

  /** If all were answered, those that have nothing yet: another was taken for this pod. */
  private static List<ContainerAssignment> waiting(PendingAssignment pod, PodList list) {
    List<ContainerAssignment> open =
        unanswered(pod).stream().filter(c -> !pod.holds(list, c)).toList();
    return open.isEmpty()
        ? assigned(pod).filter(c -> list.lists(pod.assignment(), c) && !pod.holds(list, c)).toList()
        : open;
  }

  private static List<ContainerAssignment> unanswered(PendingAssignment pod) {
    return assigned(pod).filter(c -> !pod.answered().contains(c.getContainer())).toList();
  }

  private static Stream<ContainerAssignment> assigned(PendingAssignment pod) {
    return pod.assignment().getContainersList().stream().filter(c -> c.getSharesCount() > 0);
  }

  private static Stream<Candidate> candidate(
      PendingAssignment pod,
      List<ContainerAssignment> waiting,
      int size,
      Predicate<ContainerAssignment> held) {
    for (int i = 0; i < waiting.size(); i++) {
      ContainerAssignment container = waiting.get(i);
      if (PendingAssignment.size(container) == size) {
        Match match = i == 0 ? Match.NEXT : Match.LATER;
        return Stream.of(
            new Candidate(
                pod,
                container.getContainer(),
                container.getSharesList(),
                match,
                held.test(container),
                false));
      }
    }
    return waiting.isEmpty()
        ? Stream.empty()
        : onOneGpu(pod, size, waiting.stream().anyMatch(held));
  }

  private static Stream<Candidate> onOneGpu(PendingAssignment pod, int size, boolean taken) {
    List<String> uuids = uuids(pod.assignment());
    if (uuids.size() != 1) {
      return Stream.empty();
    }
    GpuShare share = GpuShare.newBuilder().setUuid(uuids.getFirst()).setReplicas(size).build();
    return Stream.of(new Candidate(pod, "", List.of(share), Match.ONE_GPU, taken, false));
  }

  private static List<String> uuids(Assignment assignment) {
    return assignment.getContainersList().stream()
        .flatMap(c -> c.getSharesList().stream())
        .map(GpuShare::getUuid)
        .distinct()
        .toList();
  }
}
