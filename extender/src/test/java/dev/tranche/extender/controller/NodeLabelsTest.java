package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.SharingStrategy;
import dev.tranche.extender.watch.GpuLabels;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class NodeLabelsTest {
  private static final String NODE = "node-1";
  private final List<JsonObject> patches = new ArrayList<>();
  private final ControllerRig rig = new ControllerRig();
  private String unpatchable = "";
  private final NodeLabels labels = new NodeLabels(rig.context);
  private Map<String, String> onNode = new HashMap<>();
  private String written = "";

  @BeforeEach
  void patches() {
    rig.advertises(NODE, true);
    rig.patched =
        (node, patch) -> {
          if (node.equals(unpatchable)) {
            throw new IllegalStateException("of node " + node);
          }
          patches.add(new JsonObject(patch).getJsonObject("metadata"));
          return Future.succeededFuture();
        };
  }

  private static Gpu.Builder gpu(String model, int replicas) {
    return Gpu.newBuilder()
        .setModel(model)
        .setResource("nvidia.com/gpu")
        .setReplicas(replicas)
        .setShared(replicas > 1)
        .setSharingStrategy(
            replicas > 1
                ? SharingStrategy.SHARING_STRATEGY_TIME_SLICING
                : SharingStrategy.SHARING_STRATEGY_NONE)
        .setMemoryTotalBytes(15_360L << 20);
  }

  private static NodeReport report(Gpu.Builder... gpus) {
    var report = NodeReport.newBuilder();
    List.of(gpus).forEach(report::addGpus);
    return report.build();
  }

  private void watched() {
    rig.seen(labels, ControllerRig.node(NODE, Map.copyOf(onNode), written, ""));
  }

  /** Carries the last patch out, as the API server would. */
  private void patched() {
    var patch = patches.getLast();
    patch
        .getJsonObject("labels")
        .forEach(
            e -> {
              if (e.getValue() == null) {
                onNode.remove(e.getKey());
              } else {
                onNode.put(e.getKey(), (String) e.getValue());
              }
            });
    String now = patch.getJsonObject("annotations").getString("tranche.dev/node-labels");
    written = now == null ? "" : now;
    watched();
  }

  /** By a report of one GPU. */
  private void labelled() {
    watched();
    labels.reported(NODE, report(gpu("Tesla T4", 10)));
    patched();
  }

  @Test
  void nodeThatCannotBeLabelled_keepsNoOtherFromIt() {
    rig.deciding = false;
    for (String node : List.of("a", "b", "c")) {
      rig.seen(labels, ControllerRig.node(node, Map.of(), "", ""));
      labels.reported(node, report(gpu("Tesla T4", 10)));
    }
    rig.deciding = true;
    unpatchable = "b";
    labels.everyTenSeconds();
    assertThat(patches).hasSize(2);
  }

  @Test
  void sharedGpus_areLabelledAsFeatureDiscoveryWould_once() {
    watched();
    labels.reported(NODE, report(gpu("Tesla T4", 10), gpu("Tesla T4", 10)));
    patched();
    assertThat(onNode)
        .containsExactlyInAnyOrderEntriesOf(
            Map.of(
                "nvidia.com/gpu.present", "true",
                "nvidia.com/gpu.count", "2",
                "nvidia.com/gpu.product", "Tesla-T4-SHARED",
                "nvidia.com/gpu.memory", "15360",
                "nvidia.com/gpu.replicas", "10",
                "nvidia.com/gpu.sharing-strategy", "time-slicing",
                "tranche.dev/gpus", "2",
                "tranche.dev/gpu-memory-usable-mib", "15360",
                "tranche.dev/replicas-per-gpu", "10",
                "tranche.dev/sharing-strategy", "time-slicing"));
    assertThat(patches.getLast().getString("resourceVersion")).isNotEmpty();
    labels.reported(NODE, report(gpu("Tesla T4", 10), gpu("Tesla T4", 10)));
    labels.everyTenSeconds();
    assertThat(patches).hasSize(1);
  }

  @Test
  void labelsThatFlip_arePatchedAtARate_andTheLatestIsWritten() {
    watched();
    for (int second = 0; second < 300; second++) {
      rig.world.nowMs = second * 1_000L;
      int before = patches.size();
      labels.reported(NODE, report(gpu("Tesla T4", second % 2 == 0 ? 10 : 4)));
      if (second % 10 == 0) {
        labels.everyTenSeconds();
      }
      if (patches.size() > before) {
        patched();
      }
    }
    // A burst of ten, and one each ten seconds.
    assertThat(patches).hasSize(10 + 29);
    rig.world.nowMs += 60_000;
    labels.reported(NODE, report(gpu("Tesla T4", 7)));
    patched();
    assertThat(onNode).containsEntry("nvidia.com/gpu.replicas", "7");
  }

  @Test
  void product_isSpeltAsFeatureDiscoverySpellsIt() {
    assertThat(GpuLabels.of(report(gpu("NVIDIA A100-SXM4 (40GB)", 1))))
        .containsEntry("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB")
        .containsEntry("nvidia.com/gpu.sharing-strategy", "none")
        .containsEntry("nvidia.com/gpu.replicas", "1");
    assertThat(GpuLabels.of(report(gpu("Tesla T4", 4).setResource("nvidia.com/gpu.shared"))))
        .containsEntry("nvidia.com/gpu.product", "Tesla-T4");
  }

  @Test
  void usableMemory_isTheSmallestGpus_withoutTheDriversPart() {
    var gpus =
        report(
            gpu("Tesla T4", 10).setMemoryReservedBytes(500L << 20),
            gpu("Tesla T4", 10).setMemoryReservedBytes(600L << 20));
    assertThat(GpuLabels.of(gpus)).containsEntry("tranche.dev/gpu-memory-usable-mib", "14760");
    assertThat(GpuLabels.of(report(gpu("Tesla T4", 10).setMemoryTotalBytes(0))))
        .doesNotContainKeys("tranche.dev/gpu-memory-usable-mib", "nvidia.com/gpu.memory");
  }

  @Test
  void usableMemory_goesWithThePlugin_whereFeatureDiscoveryRunsToo() {
    onNode.put("nvidia.com/gfd.timestamp", "1700000000");
    labelled();
    assertThat(onNode).containsEntry("tranche.dev/gpu-memory-usable-mib", "15360");
    rig.advertises(NODE, false);
    rig.world.nowMs += NodeLabels.GONE_AFTER_MS + 1;
    labels.everyTenSeconds();
    patched();
    assertThat(onNode).doesNotContainKey("tranche.dev/gpu-memory-usable-mib");
  }

  @Test
  void labelsOfOthers_areLeftAlone() {
    onNode.put("nvidia.com/gpu.product", "Mine");
    labelled();
    assertThat(onNode).containsEntry("nvidia.com/gpu.product", "Mine");
    onNode.put("nvidia.com/gpu.count", "77");
    watched();
    labels.reported(NODE, report(gpu("Tesla T4", 10), gpu("Tesla T4", 10)));
    labels.everyTenSeconds();
    assertThat(onNode).containsEntry("nvidia.com/gpu.count", "77");
    patched();
    assertThat(written).doesNotContain("gpu.count").contains("gpu.replicas=10");
  }

  @Test
  void featureDiscovery_takesOver_andNothingIsFoughtFor() {
    labelled();
    onNode.put("nvidia.com/gfd.timestamp", "1700000000");
    onNode.put("nvidia.com/gpu.replicas", "4");
    watched();
    labels.everyTenSeconds();
    patched();
    assertThat(written)
        .isEqualTo(
            "nvidia.com/gpu.present=true,tranche.dev/gpu-memory-usable-mib=15360,tranche.dev/gpus=1,tranche.dev/replicas-per-gpu=10,tranche.dev/sharing-strategy=time-slicing");
    assertThat(onNode)
        .containsEntry("nvidia.com/gpu.replicas", "4")
        .containsEntry("nvidia.com/gpu.count", "1");
    labels.everyTenSeconds();
    assertThat(patches).hasSize(2);
  }

  /**
   * An extender of an earlier version has led meanwhile: it keeps neither the list nor the label.
   */
  @Test
  void labelsOfOurOwn_followTheReport_whoeverElseWroteThem() {
    onNode.put("nvidia.com/cuda.driver.major", "580");
    onNode.put("tranche.dev/replicas-per-gpu", "4");
    labelled();
    assertThat(onNode).containsEntry("tranche.dev/replicas-per-gpu", "10");
    written = "nvidia.com/gpu.present=true";
    onNode.put("tranche.dev/sharing-strategy", "mps");
    watched();
    labels.everyTenSeconds();
    patched();
    assertThat(onNode)
        .containsEntry("tranche.dev/sharing-strategy", "time-slicing")
        .containsEntry("tranche.dev/replicas-per-gpu", "10");
    assertThat(written).contains("tranche.dev/replicas-per-gpu=10");
  }

  /** A template's node waits for its driver for minutes. */
  @Test
  void labelsOfATemplate_stay_untilThereIsAReport() {
    onNode.put("tranche.dev/replicas-per-gpu", "10");
    rig.advertises(NODE, false);
    watched();
    rig.world.nowMs += NodeLabels.GONE_AFTER_MS + 1;
    labels.everyTenSeconds();
    assertThat(patches).isEmpty();
  }

  @Test
  void nodeWithoutPlugin_losesWhatThePluginOffered_afterAWhile() {
    labelled();
    rig.advertises(NODE, false);
    rig.world.nowMs += NodeLabels.GONE_AFTER_MS;
    labels.reported(NODE, report());
    labels.everyTenSeconds();
    assertThat(patches).hasSize(1);
    rig.world.nowMs++;
    labels.everyTenSeconds();
    patched();
    assertThat(onNode)
        .doesNotContainKeys(
            "nvidia.com/gpu.replicas",
            "nvidia.com/gpu.sharing-strategy",
            "tranche.dev/gpu-memory-usable-mib");
  }

  /** The plugin's own DaemonSet may be selected by them, and would never come back. */
  @Test
  void whatSelectsThePluginsDaemonSet_staysForAsLongAsTheNode() {
    labelled();
    rig.advertises(NODE, false);
    rig.world.nowMs += NodeLabels.GONE_AFTER_MS + 1;
    labels.everyTenSeconds();
    patched();
    Map<String, String> lasting =
        Map.of(
            "nvidia.com/gpu.present", "true",
            "nvidia.com/gpu.count", "1",
            "nvidia.com/gpu.memory", "15360",
            "nvidia.com/gpu.product", "Tesla-T4-SHARED");
    assertThat(onNode).containsExactlyInAnyOrderEntriesOf(lasting);
    rig.world.nowMs += 10 * NodeLabels.GONE_AFTER_MS;
    labels.everyTenSeconds();
    assertThat(patches).hasSize(2);
    rig.gone(labels, NODE);
    watched();
    rig.world.nowMs += NodeLabels.GONE_AFTER_MS + 1;
    labels.everyTenSeconds();
    assertThat(patches).as("of a new leader, too").hasSize(2);
    labels.reported(NODE, report(gpu("Tesla T4", 4), gpu("Tesla T4", 4)));
    patched();
    assertThat(onNode)
        .containsEntry("nvidia.com/gpu.count", "2")
        .containsEntry("nvidia.com/gpu.replicas", "4");
  }

  /** Its reports may reach another replica, which would write the labels again. */
  @Test
  void nodeWithoutAReport_keepsOurLabels_whileTheKubeletAdvertises() {
    labelled();
    rig.world.nowMs += 2 * NodeLabels.GONE_AFTER_MS;
    labels.everyTenSeconds();
    assertThat(patches).hasSize(1);
    rig.advertises(NODE, false);
    labels.everyTenSeconds();
    assertThat(patches).hasSize(2);
  }

  @Test
  void reportOfANodeThatIsGone_isIgnored() {
    watched();
    rig.gone(labels, NODE);
    labels.reported(NODE, report(gpu("Tesla T4", 10)));
    watched();
    labels.everyTenSeconds();
    assertThat(patches).isEmpty();
  }

  @Test
  void extenderThatDoesNotDecide_writesNothing() {
    rig.deciding = false;
    watched();
    labels.reported(NODE, report(gpu("Tesla T4", 10)));
    assertThat(patches).isEmpty();
    rig.deciding = true;
    labels.everyTenSeconds();
    assertThat(patches).hasSize(1);
  }
}
