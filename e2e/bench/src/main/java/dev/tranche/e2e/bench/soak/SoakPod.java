package dev.tranche.e2e.bench.soak;

import dev.tranche.api.GpuPart;
import dev.tranche.api.Names;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** The pods of a soak: how they are written, and how their requests and GPUs are read. */
final class SoakPod {
  static final String LABEL = "tranche-soak";
  private static final List<String> FRACTIONS =
      List.of("0.1", "0.1", "0.2", "0.2", "0.3", "0.3", "0.4", "0.5", "0.7", "1");

  private SoakPod() {}

  /** Returns a pod of any kind: of one share, of two containers, of two GPUs, of memory, plain. */
  static Pod random(String name, Random random) {
    PodBuilder pod =
        switch (random.nextInt(10)) {
          case 0 ->
              PodSpecs.annotated(
                      name,
                      Map.of(
                          Names.GPU_FRACTION_OF + "main",
                          "0.2",
                          Names.GPU_FRACTION_OF + "b",
                          "0.1"))
                  .editSpec()
                  .addToContainers(PodSpecs.container("b"))
                  .endSpec();
          case 1 ->
              PodSpecs.annotated(name, Map.of(Names.GPU_FRACTION, "0.3", Names.GPU_COUNT, "2"));
          case 2 -> PodSpecs.annotated(name, Map.of(Names.GPU_MEMORY, "4Gi"));
          case 3 -> PodSpecs.plain(name, 1);
          default -> PodSpecs.fraction(name, FRACTIONS.get(random.nextInt(FRACTIONS.size())));
        };
    return pod.editMetadata().addToLabels(LABEL, "").endMetadata().build();
  }

  static String key(Pod pod) {
    return pod.getMetadata().getNamespace() + "/" + pod.getMetadata().getName();
  }

  static boolean ended(Pod pod) {
    return List.of("Succeeded", "Failed").contains(pod.getStatus().getPhase());
  }

  /** Whether its author asks for a share. */
  static boolean isShare(Pod pod) {
    return pod.getMetadata().getAnnotations() != null
        && pod.getMetadata().getAnnotations().keySet().stream()
            .anyMatch(
                key -> key.startsWith(Names.GPU_FRACTION) || key.startsWith(Names.GPU_MEMORY));
  }

  /** Returns the replicas that each of its containers with a GPU requests. */
  static List<Integer> requests(Pod pod) {
    return pod.getSpec().getContainers().stream()
        .map(SoakPod::replicas)
        .filter(replicas -> replicas > 0)
        .toList();
  }

  /** Returns the replicas that it needs on each of its GPUs, if it shares no GPU with itself. */
  static List<Integer> needs(Pod pod) {
    List<Integer> requests = requests(pod);
    int gpus = Integer.parseInt(annotation(pod, Names.GPU_COUNT, "1"));
    return gpus == 1 ? requests : java.util.Collections.nCopies(gpus, requests.getFirst() / gpus);
  }

  /** Returns the parts by GPU uuid that the extender has promised; none before the Binding. */
  static Map<String, GpuPart> promised(Pod pod) {
    String value = annotation(pod, Names.GPU, "");
    List<Integer> requests = requests(pod);
    if (value.isEmpty() || requests.isEmpty() || pod.getSpec().getNodeName() == null) {
      return Map.of();
    }
    int replicasPerGpu =
        Integer.parseInt(
            annotation(pod, Names.REPLICAS_PER_GPU, Integer.toString(Tranche.REPLICAS_PER_GPU)));
    List<String> uuids = List.of(value.split(","));
    int sum = requests.stream().mapToInt(i -> i).sum();
    var parts = new HashMap<String, GpuPart>();
    for (int i = 0; i < uuids.size(); i++) {
      int replicas = uuids.size() == requests.size() ? requests.get(i) : sum / uuids.size();
      parts.merge(uuids.get(i), GpuPart.of(replicas, replicasPerGpu), GpuPart::plus);
    }
    return parts;
  }

  private static String annotation(Pod pod, String key, String otherwise) {
    Map<String, String> annotations = pod.getMetadata().getAnnotations();
    return annotations == null ? otherwise : annotations.getOrDefault(key, otherwise);
  }

  private static int replicas(Container container) {
    if (container.getResources() == null || container.getResources().getLimits() == null) {
      return 0;
    }
    Quantity limit = container.getResources().getLimits().get(Names.RESOURCE);
    return limit == null ? 0 : Integer.parseInt(limit.getAmount());
  }
}
