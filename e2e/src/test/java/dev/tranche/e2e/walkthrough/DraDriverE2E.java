package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.cluster.Node;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A real DRA driver serves nvidia.com/gpu on one node, and Tranche's plugin on the other: the
 * example driver of Kubernetes, with its own chart. Its devices are simulated.
 */
@Tag("matrix")
@Order(1_210)
class DraDriverE2E {
  private static final String SHARED = "shared";
  private static final String WHOLE = "whole";
  private static final int REPLICAS = 2 * Tranche.DEFAULT_REPLICAS_PER_GPU;

  @Test
  void eachPod_runsOnTheKindOfNodeThatItWasAdmittedFor() throws Exception {
    Path built = Shell.built("dra-driver");
    Path containerd = Shell.built("containerd");
    Map<String, List<Model>> nodes = Map.of(SHARED, List.of(Model.T4, Model.T4), WHOLE, List.of());
    try (var reader =
        Walkthrough.start("../switching.md", nodes, node -> withCdi(node, containerd))) {
      reader.cluster().loadImages(built.resolve("image.tar"));
      reader.typeOwn(
          "helm install tranche charts/tranche -n tranche --create-namespace --wait --set"
              + " plainRequests=gpus");
      reader.awaitAllocatable(SHARED, REPLICAS);
      installDriver(reader, built);
      reader.awaitLabel(WHOLE, Names.SERVED_BY, Names.DRA);

      create(reader, "half", PodSpecs.fraction("half", "0.5"));
      create(reader, "plain", PodSpecs.plain("plain", 1));
      create(reader, "two", on(WHOLE, PodSpecs.plain("two", 2)));
      reader.awaitPhase(1, "Running", "default", "app", "half");
      reader.awaitPhase(1, "Running", "default", "app", "plain");
      reader.awaitPhase(1, "Running", "default", "app", "two");

      Pod half = pod(reader, "half");
      assertThat(half.getSpec().getNodeName()).isEqualTo(SHARED);
      assertThat(reader.injected(half)).hasSize(1);
      Pod plain = pod(reader, "plain");
      assertThat(plain.getSpec().getNodeName()).isEqualTo(SHARED);
      assertThat(PodSpecs.gpus(plain.getSpec())).isEqualTo("20");
      Pod two = pod(reader, "two");
      assertThat(two.getSpec().getNodeName()).isEqualTo(WHOLE);
      assertThat(PodSpecs.gpus(two.getSpec())).as("whole GPUs, not replicas").isEqualTo("2");
      assertThat(reader.environment(two).lines().filter(line -> line.startsWith("GPU_DEVICE_")))
          .as("the driver has prepared both devices")
          .hasSizeGreaterThanOrEqualTo(2);

      // Both of its devices are taken, so the next pod waits, and takes nothing of the other node.
      create(reader, "third", on(WHOLE, PodSpecs.plain("third", 1)));
      create(reader, "later", PodSpecs.plain("later", 1));
      awaitUnschedulable(reader, "third");
      awaitUnschedulable(reader, "later");
    }
  }

  private static void awaitUnschedulable(Walkthrough reader, String app) {
    Await.until(
        app + " to be refused by all nodes",
        60,
        () ->
            pod(reader, app).getStatus().getConditions().stream()
                .anyMatch(condition -> "Unschedulable".equals(condition.getReason())),
        () -> pod(reader, app).getStatus().toString());
    assertThat(pod(reader, app).getSpec().getNodeName()).isNull();
  }

  /** The driver names its devices by CDI, which only containerd 2 knows by default. */
  private static Node withCdi(Node node, Path containerd) {
    Node with = node;
    for (String program : List.of("containerd", "containerd-shim-runc-v2")) {
      with = with.mount(containerd.resolve(program), "/usr/bin/" + program);
    }
    return with;
  }

  private static void installDriver(Walkthrough reader, Path built) {
    reader.typeOwn(
        """
        %s install dra %s -n dra --create-namespace --wait --timeout 3m \
          --set driverName=gpu.nvidia.com --set deviceClass.extendedResourceName=nvidia.com/gpu \
          --set image.repository=tranche-e2e/dra-driver --set image.tag=1 --set image.pullPolicy=Never \
          --set kubeletPlugin.numDevices=2 --set kubeletPlugin.nodeSelector.kubernetes\\\\.io/hostname=%s
        """
            // The terminal's own helm sets Tranche's image.
            .formatted(Artifacts.of(Walkthrough.ROOT).tool("helm"), built.resolve("chart"), WHOLE));
  }

  private static PodBuilder on(String node, PodBuilder pod) {
    return new PodBuilder(PodSpecs.on(node, pod));
  }

  private static void create(Walkthrough reader, String app, PodBuilder pod) {
    Pod labelled = pod.editMetadata().addToLabels("app", app).endMetadata().build();
    reader.client().pods().inNamespace("default").resource(labelled).create();
  }

  private static Pod pod(Walkthrough reader, String app) {
    return reader.pods("default", "app", app).getFirst();
  }
}
