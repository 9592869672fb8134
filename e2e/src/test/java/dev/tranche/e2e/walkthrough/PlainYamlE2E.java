package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import java.nio.file.Path;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** All of Tranche without Helm, as {@code docs/platform-engineer.md} has it. */
@Order(1_060)
class PlainYamlE2E {
  private static final String NODE = "one";

  /** The first minor version whose kube-scheduler knows the flag that the files set. */
  private static final int WITH_ASYNC_PREEMPTION = 33;

  private static final Path POD_RESOURCES = UndisturbedPods.podResources("plain");

  @Test
  void page_installsAllOfIt_andTakesItAway_fromUnderARunningShare() {
    try (var reader = Walkthrough.start("../platform-engineer.md", NODE, POD_RESOURCES)) {
      var pods = new UndisturbedPods(reader, POD_RESOURCES);
      if (KubernetesVersion.minor(KubernetesVersion.ofClusters()) < WITH_ASYNC_PREEMPTION) {
        // As the page says of these versions.
        reader.typeOwn(
            "sed -i '/# Asynchronous preemption/,/SchedulerAsyncPreemption/d' deploy/tranche.yaml");
      }
      reader.type("Plain YAML");
      reader.typeOwn("kubectl -n tranche rollout status deployment,daemonset --timeout=180s");
      reader.awaitAllocatable(NODE, 2 * Tranche.DEFAULT_REPLICAS_PER_GPU);
      pods.run(PodSpecs.fraction("share", "0.3"));
      assertThat(pods.heldReplicas("share")).hasSize(6);
      reader.typeOwn(
          "kubectl run quick --image=busybox:1.37 --annotations=tranche.dev/gpu-fraction=0.2 --"
              + " sleep 3600");
      reader.awaitPhase(1, "Running", "default", "run", "quick");
      assertThat(pods.heldReplicas("quick")).hasSize(4);

      reader.type("Remove plain YAML");
      reader.awaitAllocatable(NODE, 0);
      reader.nothingIsLeft(NODE);
      pods.check();
    }
  }
}
