package dev.tranche.extender.readapi.row;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.NodeView.Availability;
import dev.tranche.extender.load.GpuActivity;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.TestGpu;
import dev.tranche.extender.readapi.json.Json;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** One GPU's row. */
final class GpuTest {
  private boolean memoryKnown = true;
  private long usedBytes = 3L << 30;
  private Map<String, Long> usedByPod = Map.of();
  private View viewer = View.ALL;

  @Test
  void lastReadingMeanAndEffectiveLoad_standSideBySide() {
    JsonObject shown = shown(List.of(), Map.of());
    JsonObject measured = shown.getJsonObject("measured");
    assertThat(measured.getString("smLast")).isEqualTo("900m");
    assertThat(measured.getString("sm")).isEqualTo("200m");
    assertThat(shown.getJsonObject("effective").getString("sm")).isEqualTo("300m");
    assertThat(shown.getString("model")).doesNotContain("\n", "\u202e");
  }

  @Test
  void activity_isShownWhereItIsKnown_andIsNeverAZeroThatNobodyMeasured() {
    JsonObject none = shown(List.of(), Map.of()).getJsonObject("measured");
    assertThat(none.fieldNames())
        .doesNotContain("smActive", "smOccupancy", "tensorActive", "dramActive");
    JsonObject some =
        shown(List.of(), Map.of(), new GpuActivity(0.964f, 0, Float.NaN, 0.254f))
            .getJsonObject("measured");
    assertThat(some.getString("smActive")).isEqualTo("964m");
    assertThat(some.getString("smOccupancy")).isEqualTo("0");
    assertThat(some.containsKey("tensorActive")).isFalse();
    assertThat(some.getString("dramActive")).isEqualTo("254m");
  }

  @Test
  void memoryThatNvmlDoesNotTell_isAbsent() {
    JsonObject known = shown(List.of(), Map.of()).getJsonObject("measured");
    assertThat(known.getString("memory")).isEqualTo("3Gi");
    memoryKnown = false;
    JsonObject unknown = shown(List.of(), Map.of()).getJsonObject("measured");
    assertThat(unknown.containsKey("memory")).isFalse();
    assertThat(unknown.getString("sm")).isEqualTo("200m");
  }

  /** It names no pod of another namespace. */
  @Test
  void useAboveTheGrant_isShownWithItsPod() {
    usedBytes = 6L << 30;
    usedByPod = Map.of("ns/p", 5L << 30);
    JsonObject all = shown(List.of(held(3)), Map.of());
    assertThat(all.getString("overuse")).isEqualTo("p uses 5.0 GiB of 3.0 GiB");
    assertThat(all.getString("memoryOfNoPod")).isEqualTo("1Gi");
    assertThat(all.getJsonArray("holders").getJsonObject(0).getBoolean("overuses")).isTrue();
    viewer = View.of("other");
    assertThat(shown(List.of(held(3)), Map.of()).getString("overuse"))
        .isEqualTo("a pod of another namespace uses 5.0 GiB of 3.0 GiB");
    usedByPod = Map.of("ns/p", (3L << 30) + 1);
    usedBytes = 3L << 30;
    JsonObject little = shown(List.of(held(3)), Map.of());
    assertThat(little.fieldNames()).doesNotContain("overuse");
  }

  @Test
  void memoryThatNoPodUses_isShown_ifItIsKnownWhatPodsUse() {
    usedBytes = 5L << 30;
    JsonObject nobodys = shown(List.of(), Map.of());
    assertThat(nobodys.getString("overuse")).isEqualTo("5.0 GiB used by no pod");
    assertThat(nobodys.getString("memoryOfNoPod")).isEqualTo("5Gi");
    JsonObject unknown = shown(List.of(held(3)), Map.of());
    assertThat(unknown.getString("overuse")).isEqualTo("2.0 GiB more than granted");
    assertThat(unknown.fieldNames()).doesNotContain("memoryOfNoPod");
  }

  private static Hold held(int replicas) {
    return held(replicas, 10);
  }

  private static Hold held(int replicas, int of) {
    var share = new Placement.Share("GPU-a", replicas);
    var place = Placement.of(List.of(new Placement.Container("main", List.of(share))));
    var stage = Hold.Stage.CONFIRMED;
    return new Hold(
        "uid-p", "ns/p", "a", "nvidia.com/gpu", place, true, replicas, of, stage, 0, 0, 0);
  }

  @Test
  void replicasOfAFormerSize_areNotMixedWithThoseOfNow() {
    JsonObject holder =
        shown(List.of(held(3, 4)), Map.of("uid-p", 4)).getJsonArray("holders").getJsonObject(0);
    assertThat(holder.getInteger("replicas")).isEqualTo(3);
    assertThat(holder.getInteger("replicasPerGpu")).isEqualTo(4);
    assertThat(holder.getString("stage")).isEqualTo("Confirmed");
  }

  /** The node says so, and it counts more than what the pod was sized for. */
  @Test
  void replicasThatTheNodeHasGranted_areCountedInItsR() {
    JsonObject holder =
        shown(List.of(held(3)), Map.of("uid-p", 4)).getJsonArray("holders").getJsonObject(0);
    assertThat(holder.getInteger("replicasPerGpu")).isEqualTo(4);
  }

  private JsonObject shown(List<Hold> holds, Map<String, Integer> formerReplicas) {
    return shown(holds, formerReplicas, null);
  }

  private JsonObject shown(
      List<Hold> holds, Map<String, Integer> formerReplicas, @Nullable GpuActivity activity) {
    var view =
        new TestGpu("GPU-a")
            .model("Tesla T4\nb forged 7/10\u202e")
            .free(7)
            .memory(10L << 30, 7L << 30)
            .load(0.3)
            .view();
    var reading =
        new LoadReading(usedBytes, 0.9, 0.2, 1, 100, usedByPod, Map.of(), activity, memoryKnown);
    var gpu = new Inspection.Gpu(view, 100, holds, formerReplicas, reading, Map.of(), Map.of());
    var node =
        new Inspection.Node("a", Availability.AVAILABLE, List.of(gpu), List.of(), Instant.EPOCH);
    return Json.buffer(Gpu.of(new Snapshot.GpuRow("a/GPU-a", node, gpu), viewer)).toJsonObject();
  }
}
