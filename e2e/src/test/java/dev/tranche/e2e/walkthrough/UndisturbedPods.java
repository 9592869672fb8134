package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.ReplicaId;
import dev.tranche.e2e.cluster.Cluster;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.ContainerStatuses;
import dev.tranche.e2e.kubelet.KubeletTruth;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Pods of one node that run while everything around them is changed, and what they hold: none may
 * notice.
 */
final class UndisturbedPods {
  private static final String NAMESPACE = "default";

  private final Walkthrough reader;
  private final Path kubelet;
  private final Map<String, Pod> pods = new LinkedHashMap<>();
  private final Map<String, List<String>> held = new TreeMap<>();

  /**
   * @param podResources the folder that the node has at its kubelet's pod-resources
   */
  UndisturbedPods(Walkthrough reader, Path podResources) {
    this.reader = reader;
    this.kubelet = podResources.resolve("kubelet.sock");
  }

  /** For {@link #UndisturbedPods}: not long, since a socket's path may not be. */
  static Path podResources(String name) {
    try {
      return Files.createDirectories(Walkthrough.ROOT.resolve("target").resolve(name));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Creates a pod, waits until it runs, and has an eye on it from then on. */
  Pod run(PodBuilder pod) {
    Pod created = create(pod);
    String name = created.getMetadata().getName();
    Await.until(
        name + " to run",
        120,
        () -> get(name).getStatus().getPhase().equals("Running"),
        () -> cluster().kubectl("describe", "pod", name).out());
    track(name);
    return get(name);
  }

  Pod create(PodBuilder pod) {
    return reader.client().pods().inNamespace(NAMESPACE).resource(pod.build()).create();
  }

  Pod get(String name) {
    return reader.client().pods().inNamespace(NAMESPACE).withName(name).require();
  }

  private void track(String name) {
    pods.put(name, get(name));
    held.put(name, heldReplicas(name));
    assertThat(heldReplicas(name)).as("what %s holds", name).isNotEmpty();
  }

  void delete(String name) {
    reader.client().pods().inNamespace(NAMESPACE).withName(name).withGracePeriod(0).delete();
  }

  /** Replica ids of a pod's only container. */
  List<String> heldReplicas(String name) {
    return KubeletTruth.of(kubelet).devices(NAMESPACE, name).values().stream()
        .flatMap(List::stream)
        .sorted()
        .toList();
  }

  /** Replicas by uuid that all of them hold. */
  Map<String, Integer> replicasByGpu() {
    var replicas = new TreeMap<String, Integer>();
    held.values().stream()
        .flatMap(List::stream)
        .forEach(id -> replicas.merge(ReplicaId.uuidOf(id), 1, Integer::sum));
    return replicas;
  }

  void check() {
    assertThat(pods).isNotEmpty();
    pods.forEach(
        (name, before) -> {
          Pod now = get(name);
          assertThat(now.getMetadata().getUid()).as(name).isEqualTo(before.getMetadata().getUid());
          assertThat(now.getStatus().getPhase()).as(name).isEqualTo("Running");
          assertThat(ContainerStatuses.withoutHealth(now))
              .isEqualTo(ContainerStatuses.withoutHealth(before));
          assertThat(heldReplicas(name)).as(name).isEqualTo(held.get(name));
        });
  }

  /** Every extender that knows anything knows them, and on which GPU each is. */
  void awaitCounted(String namespace, String node) {
    Await.until(
        "every hold to be counted",
        60,
        () -> {
          var pages = reader.inspection(namespace).confirmedReplicas(node);
          return !pages.isEmpty() && pages.stream().allMatch(replicasByGpu()::equals);
        },
        () -> replicasByGpu() + "\n" + reader.inspection(namespace));
  }

  private Cluster cluster() {
    return reader.cluster();
  }
}
