package dev.tranche.e2e.install;

import dev.tranche.api.Names;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.stream.IntStream;

/** How the webhook sizes fractions, asked by dry runs. */
public final class Sizing {
  private static final int LIMIT_SECONDS = 60;

  private Sizing() {}

  /**
   * Returns when the webhook sizes fractions by so many replicas per GPU. It hears of a node's new
   * label a moment later than other clients do.
   */
  public static void await(KubernetesClient client, String namespace, int replicas) {
    Await.until(
        "the webhook to size fractions by %d replicas per GPU".formatted(replicas),
        LIMIT_SECONDS,
        // Two replicas answer, and each has a watch of its own.
        () ->
            IntStream.range(0, 8)
                .allMatch(
                    i -> Integer.toString(replicas).equals(replicasPerGpu(client, namespace))));
  }

  private static String replicasPerGpu(KubernetesClient client, String namespace) {
    Pod probe = PodSpecs.fraction("probe", "0.1").build();
    return client
        .pods()
        .inNamespace(namespace)
        .resource(probe)
        .dryRun()
        .create()
        .getMetadata()
        .getAnnotations()
        .getOrDefault(Names.REPLICAS_PER_GPU, "none");
  }
}
