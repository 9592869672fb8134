package dev.tranche.nodeplugin.kubelet;

import static java.util.stream.Collectors.toUnmodifiableSet;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.Holding;
import dev.tranche.api.podresources.ContainerDevices;
import dev.tranche.api.podresources.ContainerResources;
import dev.tranche.api.podresources.ListPodResourcesResponse;
import dev.tranche.api.podresources.PodResources;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** A PodResources List, looked up by pod and container. */
final class PodList {
  private static final Comparator<PodResources> BY_NAME =
      Comparator.comparing(PodResources::getNamespace).thenComparing(PodResources::getName);

  private final ListPodResourcesResponse list;
  private final Map<String, PodResources> byName = new HashMap<>();

  PodList(ListPodResourcesResponse list) {
    this.list = list;
    list.getPodResourcesList().forEach(p -> byName.put(p.getNamespace() + "/" + p.getName(), p));
  }

  /**
   * Returns whether the List shows a pod from the API server, such as our own. A kubelet that
   * started without the API server knows only its static pods, whose names end with the node's
   * name.
   */
  boolean complete(String nodeName) {
    return list.getPodResourcesList().stream()
        .anyMatch(pod -> nodeName.isEmpty() || !pod.getName().endsWith("-" + nodeName));
  }

  private Optional<PodResources> pod(Assignment assignment) {
    return Optional.ofNullable(byName.get(PendingAssignment.name(assignment)));
  }

  boolean lists(Assignment assignment) {
    return pod(assignment).isPresent();
  }

  /** Returns false for ordinary init containers, which the kubelet leaves out. */
  boolean lists(Assignment assignment, ContainerAssignment container) {
    return container(assignment, container).isPresent();
  }

  boolean holds(Assignment assignment, ContainerAssignment container) {
    return !held(assignment, container).isEmpty();
  }

  /** Returns the device ids that the container holds of the assignment's resource. */
  Set<String> held(Assignment assignment, ContainerAssignment container) {
    return container(assignment, container).stream()
        .flatMap(c -> c.getDevicesList().stream())
        .filter(d -> d.getResourceName().equals(assignment.getResource()))
        .flatMap(d -> d.getDeviceIdsList().stream())
        .collect(toUnmodifiableSet());
  }

  /** Returns whether any container under the pod's name holds devices of its resource. */
  boolean holdsAny(Assignment assignment) {
    return pod(assignment).stream()
        .flatMap(p -> p.getContainersList().stream())
        .flatMap(c -> c.getDevicesList().stream())
        .anyMatch(
            d -> d.getResourceName().equals(assignment.getResource()) && d.getDeviceIdsCount() > 0);
  }

  private Optional<ContainerResources> container(
      Assignment assignment, ContainerAssignment container) {
    return pod(assignment).stream()
        .flatMap(p -> p.getContainersList().stream())
        .filter(c -> c.getName().equals(container.getContainer()))
        .findFirst();
  }

  /**
   * Returns who holds which of our devices, sorted by pod name. The kubelet lists pods in another
   * order each time, which would look like a change to every extender.
   */
  List<Holding> holdings(Predicate<ContainerDevices> isOurs) {
    return list.getPodResourcesList().stream()
        .sorted(BY_NAME)
        .flatMap(pod -> pod.getContainersList().stream().flatMap(c -> held(pod, c, isOurs)))
        .toList();
  }

  private static Stream<Holding> held(
      PodResources pod, ContainerResources container, Predicate<ContainerDevices> isOurs) {
    SortedMap<String, SortedSet<String>> ids = new TreeMap<>();
    container.getDevicesList().stream()
        .filter(d -> d.getDeviceIdsCount() > 0 && isOurs.test(d))
        .forEach(
            d ->
                ids.computeIfAbsent(d.getResourceName(), r -> new TreeSet<>())
                    .addAll(d.getDeviceIdsList()));
    return ids.entrySet().stream()
        .map(
            of ->
                Holding.newBuilder()
                    .setNamespace(pod.getNamespace())
                    .setPod(pod.getName())
                    .setContainer(container.getName())
                    .setResource(of.getKey())
                    .addAllDeviceIds(of.getValue())
                    .build());
  }
}
