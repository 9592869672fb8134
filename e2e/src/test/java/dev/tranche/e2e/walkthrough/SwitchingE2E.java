package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.api.ReplicaId;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * From NVIDIA's own plugin to ours and back, under running pods, as {@code docs/switching.md} says.
 */
@Tag("matrix")
@Order(1_100)
class SwitchingE2E {
  private static final String NODE = "one";
  private static final int EACH = 10;
  private static final Path POD_RESOURCES = UndisturbedPods.podResources("switching");

  private static final String INSTALL_NVIDIAS =
      """
      helm upgrade -i nvdp %s -n nvidia-device-plugin --create-namespace \
        --set-file config.map.config=./your-config.yaml
      """
          .formatted(Walkthrough.ROOT.resolve("e2e/nvidia-plugin/chart"));

  private static final String CONFIG =
      """
      version: v1
      sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %d}]}}
      """
          .formatted(EACH);

  @Test
  void page_movesANodeThereAndBack_underRunningPods() throws IOException {
    try (var reader = start()) {
      var pods = new UndisturbedPods(reader, POD_RESOURCES);
      Files.writeString(reader.terminal().folder().resolve("your-config.yaml"), CONFIG);
      reader.typeOwn(INSTALL_NVIDIAS);
      reader.awaitAllocatable(NODE, 2 * EACH);
      List.of("one", "two", "three").forEach(name -> pods.run(PodSpecs.plain(name, 1)));

      oursTakesOver(reader);
      pods.run(PodSpecs.plain("four", 2));
      pods.check();

      reader.type("4. Webhook and extender");
      reader.awaitAllocatable(NODE, 2 * EACH);
      pods.awaitCounted("tranche", NODE);
      newPodsGoOnlyWhereRoomIs(pods);
      pods.check();

      reader.type("Uninstall");
      reader.awaitAllocatable(NODE, 0);
      pods.check();
      reader.typeOwn(INSTALL_NVIDIAS);
      reader.awaitAllocatable(NODE, 2 * EACH);
      pods.run(PodSpecs.plain("last", 1));
      pods.check();
    }
  }

  private static Walkthrough start() throws IOException {
    Path nvidias = Shell.built("nvidia-plugin");
    return Walkthrough.start(
        "../switching.md",
        Map.of(NODE, List.of(Model.T4, Model.T4)),
        node ->
            node.mount(nvidias, "/opt/tranche-e2e/nvidia-plugin")
                .mount(POD_RESOURCES, "/var/lib/kubelet/pod-resources"));
  }

  private static void oursTakesOver(Walkthrough reader) {
    reader.type("1. Only the node plugin");
    Await.until("ours to wait", 60, () -> reader.succeeds("2. The new plugin waits"));
    assertThat(reader.type("2. The new plugin waits")).contains("served by another device plugin");
    reader.type("3. Remove NVIDIA's plugin");
    reader.awaitAllocatable(NODE, 2 * EACH);
  }

  /** Five replicas are held, so one GPU has more room than the other. */
  private static void newPodsGoOnlyWhereRoomIs(UndisturbedPods pods) {
    var held = pods.replicasByGpu();
    assertThat(held.values()).as("held of each GPU").hasSize(2).doesNotHaveDuplicates();
    var least = held.entrySet().stream().min(Map.Entry.comparingByValue()).orElseThrow();
    var most = held.entrySet().stream().max(Map.Entry.comparingByValue()).orElseThrow();

    pods.run(PodSpecs.fraction("all-the-room", tenths(EACH - least.getValue())));
    assertThat(pods.heldReplicas("all-the-room"))
        .allMatch(id -> ReplicaId.uuidOf(id).equals(least.getKey()));
    pods.create(PodSpecs.fraction("no-room", tenths(EACH - most.getValue() + 1)));
    pods.run(PodSpecs.fraction("all-but-one", tenths(EACH - most.getValue() - 1)));
    assertThat(pods.heldReplicas("all-but-one"))
        .allMatch(id -> ReplicaId.uuidOf(id).equals(most.getKey()));
    assertThat(pods.get("no-room").getStatus().getPhase()).isEqualTo("Pending");
    assertThat(pods.get("no-room").getSpec().getSchedulerName()).isEqualTo(Names.SCHEDULER);
    pods.delete("no-room");
  }

  private static String tenths(int replicas) {
    return "0." + replicas;
  }
}
