package dev.tranche.e2e.scenario;

import dev.tranche.api.Names;
import dev.tranche.e2e.cluster.Cluster;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.Tranche;
import dev.tranche.e2e.kubelet.KubeletTruth;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Assertions;

/** A cluster of one node, for scenarios that need the chart or the GPUs to be others. */
final class OneNode implements AutoCloseable {
  static final String NODE = "only";
  static final String NAMESPACE = "default";
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  private final Tranche tranche;

  private OneNode(Tranche tranche) {
    this.tranche = tranche;
  }

  /**
   * @param adjust makes the GPUs what they shall be before anything reads them
   * @param values of the chart
   */
  static OneNode start(
      String name, List<Model> models, Consumer<NodeGpus> adjust, Map<String, Object> values) {
    return start(name, models, adjust, values, Cluster.builder().withQuickKubelets());
  }

  /**
   * @param cluster without nodes
   */
  static OneNode start(
      String name,
      List<Model> models,
      Consumer<NodeGpus> adjust,
      Map<String, Object> values,
      Cluster.Builder cluster) {
    var plan =
        new Tranche.Plan(
            ROOT.resolve("target").resolve(name),
            Map.of(NODE, models),
            gpus -> gpus.values().forEach(adjust),
            values,
            false,
            step -> {});
    return new OneNode(Tranche.start(Artifacts.of(ROOT), plan, cluster));
  }

  Tranche tranche() {
    return tranche;
  }

  KubernetesClient client() {
    return tranche.client();
  }

  NodeGpus gpus() {
    return tranche.gpus(NODE);
  }

  int allocatable(String resource) {
    Quantity quantity =
        client().nodes().withName(NODE).get().getStatus().getAllocatable().get(resource);
    return quantity == null ? 0 : Integer.parseInt(quantity.getAmount());
  }

  /**
   * The kubelet tells of a change in its own time, and brings an edited ConfigMap in its own. Until
   * the node has Tranche's labels, the webhook leaves pods with a number to it as a foreign one.
   */
  void awaitAllocatable(String resource, int count) {
    Await.until(
        "%s of %s to be %d".formatted(NODE, resource, count),
        240,
        () -> allocatable(resource) == count && (count == 0 || isLabelled()),
        () ->
            client().nodes().withName(NODE).get().getStatus().getAllocatable()
                + kubectl("get", "events"));
  }

  private boolean isLabelled() {
    return client()
        .nodes()
        .withName(NODE)
        .get()
        .getMetadata()
        .getLabels()
        .containsKey(Names.LABEL_REPLICAS_PER_GPU);
  }

  /** Edits the node plugin's config while it runs. */
  void setConfig(String text) {
    tranche.setNodePluginConfig(text);
  }

  Pod get(String name) {
    Pod pod = client().pods().inNamespace(NAMESPACE).withName(name).get();
    Assertions.assertNotNull(pod, name);
    return pod;
  }

  Pod create(Pod pod) {
    return client().pods().inNamespace(NAMESPACE).resource(pod).create();
  }

  void delete(String name) {
    client().pods().inNamespace(NAMESPACE).withName(name).withGracePeriod(0).delete();
  }

  /** The pod, created, once it runs. */
  Pod run(Pod pod) {
    create(pod);
    return awaitRunning(pod.getMetadata().getName());
  }

  Pod awaitRunning(String name) {
    Await.until(
        name + " to run",
        120,
        () -> "Running".equals(get(name).getStatus().getPhase()),
        () -> kubectl("describe", "pod", name));
    return get(name);
  }

  void deletePods() {
    var pods = client().pods().inNamespace(NAMESPACE);
    pods.withGracePeriod(0).delete();
    Await.until("the pods to be gone", 60, () -> pods.list().getItems().isEmpty());
  }

  /** Replica ids per container, as the kubelet tells. */
  Map<String, List<String>> held(Pod pod) {
    return KubeletTruth.of(tranche.podResourcesSocket(NODE))
        .devices(NAMESPACE, pod.getMetadata().getName());
  }

  String visibleDevices(Pod pod) {
    return tranche
        .cluster()
        .kubectl(
            "exec", pod.getMetadata().getName(), "--", "sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES")
        .orFail("asking " + pod.getMetadata().getName())
        .strip();
  }

  String kubectl(String... arguments) {
    return tranche.cluster().kubectl(arguments).out();
  }

  @Override
  public void close() {
    tranche.close();
  }
}
