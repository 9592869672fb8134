package dev.tranche.nodeplugin.kubelet;

import static java.util.stream.Collectors.toMap;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Finds the pod and the container that the kubelet is allocating for. Its calls do not name them.
 *
 * <p>The kubelet registers one pod internally, then admits it container by container, before it
 * handles the next. So the pod is one that PodResources lists, that was assigned here, and that has
 * a container without devices. Several pods can match, since a pod that was rejected for another
 * reason may still be listed. The best match is a pod whose next container requests exactly this
 * many replicas. Among those, it is the pod that appeared in the List last.
 */
final class AdmittingPod {
  /** How certain the match is; a label of a metric. */
  enum How {
    /** The List shows which pod it is. */
    LISTED,
    /** The List shows several pods that match equally well. */
    AMBIGUOUS,
    /** There was no List; the pod was chosen by size, then by age. */
    SIZE_AND_AGE
  }

  /** How well a container of a candidate matches the request, from best to worst. */
  private enum Match {
    NEXT,
    LATER,
    /** No assigned container matches, but an init container may: the assignment names none. */
    INIT
  }

  /**
   * A container that may be meant.
   *
   * @param of what its pod was assigned
   * @param container empty for an init container that the assignment does not name
   * @param shares that the container is to get
   * @param nameAmbiguous whether it may also be another pod of the same name that requests as many
   * @param passedOn whether it may get replicas of any of the pod's GPUs, whatever its shares are:
   *     the kubelet chooses among those that init containers pass on
   */
  record Found(
      Assignment of,
      String container,
      List<GpuShare> shares,
      How how,
      boolean nameAmbiguous,
      boolean passedOn) {
    Found asNameAmbiguous() {
      return new Found(of, container, shares, how, true, passedOn);
    }

    Found asPassedOn(List<GpuShare> others) {
      return new Found(of, container, others, how, nameAmbiguous, true);
    }

    String podUid() {
      return of.getPodUid();
    }

    boolean ofInitContainer() {
      return container.isEmpty();
    }

    /** For the log. */
    @Override
    public String toString() {
      return "pod %s%s: %s"
          .formatted(
              podUid(),
              ofInitContainer() ? "" : " container " + container,
              PendingAssignment.text(shares));
    }
  }

  /**
   * @param taken whether a container of the same pod and container name already holds devices; the
   *     kubelet then allocates for this one only if those are a predecessor's
   */
  private record Candidate(
      PendingAssignment pod,
      String container,
      List<GpuShare> shares,
      Match match,
      boolean taken,
      boolean nameAmbiguous) {
    Candidate asNameAmbiguous() {
      return new Candidate(pod, container, shares, match, taken, true);
    }

    Found found(How how) {
      Assignment of = pod.assignment();
      boolean passedOn =
          of.getHeldCount() > 1 && (container.isEmpty() || pod.answered().contains(""));
      return new Found(of, container, shares, how, nameAmbiguous, passedOn);
    }
  }

  private static final Comparator<Candidate> BY_LIST =
      Comparator.comparing(Candidate::taken)
          .thenComparing(Candidate::match)
          .thenComparingLong(c -> -c.pod().firstListed());

  private static final Comparator<Candidate> LIKELIEST =
      BY_LIST.thenComparingLong(c -> -c.pod().order());

  private static final Comparator<Candidate> OLDEST =
      Comparator.comparing((Candidate c) -> c.pod().answered().isEmpty())
          .thenComparingLong(c -> c.pod().order());

  private static final PodList NO_LIST = new PodList(ListPodResourcesResponse.getDefaultInstance());

  private AdmittingPod() {}

  /**
   * Finds the pod in a List.
   *
   * @param size number of replicas requested
   */
  static Optional<Found> find(
      Collection<PendingAssignment> pods, PodList list, String resource, int size) {
    List<Candidate> candidates =
        pods.stream()
            .filter(pod -> pod.mayAllocate(resource) && list.lists(pod.assignment()))
            .flatMap(pod -> candidate(pod, waiting(pod, list), size, list))
            .collect(toMap(c -> c.pod().name(), c -> c, AdmittingPod::betterOfSameName))
            .values()
            .stream()
            .sorted(LIKELIEST)
            .toList();
    How how = ambiguous(candidates) ? How.AMBIGUOUS : How.LISTED;
    return candidates.stream().findFirst().map(c -> c.found(how));
  }

  /**
   * Guesses without a List: prefers a pod of which a container was answered, then the pod that was
   * assigned first.
   */
  static Optional<Found> guess(Collection<PendingAssignment> pods, String resource, int size) {
    return pods.stream()
        .filter(pod -> pod.mayAllocate(resource))
        .flatMap(pod -> candidate(pod, pod.unanswered(), size, NO_LIST))
        .filter(c -> c.match() != Match.INIT)
        .min(OLDEST)
        .map(c -> c.found(How.SIZE_AND_AGE));
  }

  /**
   * Chooses between two pods of one name, which is all that a List shows. Of equal matches it keeps
   * the later pod, since the kubelet may never ask for the earlier one.
   */
  private static Candidate betterOfSameName(Candidate one, Candidate other) {
    if (one.match() != other.match()) {
      return one.match().compareTo(other.match()) < 0 ? one : other;
    }
    return (one.pod().order() > other.pod().order() ? one : other).asNameAmbiguous();
  }

  private static boolean ambiguous(List<Candidate> candidates) {
    return candidates.size() > 1 && BY_LIST.compare(candidates.get(0), candidates.get(1)) == 0;
  }

  /**
   * Returns the containers that have no answer and no devices. If there are none, another pod was
   * mistaken for this one; then returns all that have no devices.
   */
  private static List<ContainerAssignment> waiting(PendingAssignment pod, PodList list) {
    List<ContainerAssignment> open =
        pod.unanswered().stream().filter(c -> !pod.holds(list, c)).toList();
    return open.isEmpty()
        ? pod.containers().stream()
            .filter(c -> list.lists(pod.assignment(), c) && !pod.holds(list, c))
            .toList()
        : open;
  }

  private static Stream<Candidate> candidate(
      PendingAssignment pod, List<ContainerAssignment> waiting, int size, PodList list) {
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
                list.holds(pod.assignment(), container),
                false));
      }
    }
    List<GpuShare> shares = waiting.isEmpty() ? List.of() : sharesOfInit(pod, size, list);
    boolean taken = waiting.stream().anyMatch(c -> list.holds(pod.assignment(), c));
    return shares.isEmpty()
        ? Stream.empty()
        : Stream.of(new Candidate(pod, "", shares, Match.INIT, taken, false));
  }

  /**
   * Returns the part of what the pod holds that sidecars before the init container have not. What
   * the next container is to have comes first, since it takes over what the init container has.
   *
   * @param list shows the devices of containers that have begun. An answer does not tell: an
   *     earlier init container of the same size may have been taken for it
   */
  private static List<GpuShare> sharesOfInit(PendingAssignment pod, int size, PodList list) {
    var part = new HeldPart(pod.assignment());
    pod.containers().stream()
        .filter(c -> pod.holds(list, c))
        .flatMap(c -> c.getSharesList().stream())
        .forEach(s -> part.remove(s.getUuid(), s.getReplicas()));
    return part.take(pod.unanswered().stream().flatMap(c -> c.getSharesList().stream()), size);
  }
}
