package dev.tranche.extender.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.NodeView.Availability;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.load.UsageDistribution;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.LoadForecast;
import dev.tranche.extender.placement.Placement;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class PagesTest {
  @Test
  void json_isWholeWithManyNodesAndWithNone() throws IOException {
    JsonObject many = json(inspection("a", "b"));
    assertThat(many.getJsonArray("nodes")).hasSize(2);
    JsonObject second = many.getJsonArray("nodes").getJsonObject(1);
    assertThat(second.getString("node")).isEqualTo("b");
    assertThat(second.getJsonArray("gpus").getJsonObject(0).getInteger("freeReplicas"))
        .isEqualTo(7);
    assertThat(many.getJsonObject("holdsByStage").getInteger("bound")).isEqualTo(2);
    assertThat(many.getInteger("waitingPods")).isOne();
    assertThat(json(inspection()).getJsonArray("nodes")).isEmpty();
  }

  @Test
  void text_hasALinePerGpu() throws IOException {
    var text = new StringWriter();
    Pages.inspection(inspection("a", "b"), text);
    assertThat(text.toString().lines())
        .hasSize(4)
        .anyMatch(line -> line.startsWith("b ") && line.contains("7/10"))
        .noneMatch(line -> line.contains("\u202e"))
        .contains("holds {bound=2}, pods that wait 1");
  }

  @Test
  void lastReadingMeanAndEffectiveLoad_standSideBySide() throws IOException {
    var shown = json(inspection("a")).getJsonArray("nodes").getJsonObject(0).getJsonArray("gpus");
    assertThat(shown.getJsonObject(0).getInteger("smPercent")).isEqualTo(90);
    assertThat(shown.getJsonObject(0).getInteger("smMeanPercent")).isEqualTo(20);
    assertThat(shown.getJsonObject(0).getInteger("smLoadPercent")).isEqualTo(30);
    var text = new StringWriter();
    Pages.inspection(inspection("a"), text);
    assertThat(text.toString().replaceAll(" +", " "))
        .contains("FREE SM LAST SM MEAN SM LOAD MEM FREE")
        .contains(" 7/10 90% 20% 30% ");
  }

  @Test
  void replicasOfAFormerSize_areNotMixedWithThoseOfNow() throws IOException {
    var place =
        Placement.of(
            List.of(new Placement.Container("main", List.of(new Placement.Share("GPU-a", 3)))));
    var hold =
        new Hold(
            "uid-p",
            "ns/p",
            "a",
            "nvidia.com/gpu",
            place,
            true,
            3,
            4,
            Hold.Stage.BOUND,
            true,
            0,
            0,
            0);
    var now = gpu("a");
    var gpu =
        new Inspection.Gpu(now.view(), 0, 0.3, 3L << 30, 100, List.of(hold), Map.of("uid-p", 4));
    var node = new Inspection.Node("a", Availability.AVAILABLE, List.of(gpu), List.of());
    var inspection = new Inspection(List.of(node), Map.of(), 0);
    var text = new StringWriter();
    Pages.inspection(inspection, text);
    assertThat(text.toString()).contains("ns/p=3 of 4(confirmed)");
    JsonObject held =
        json(inspection)
            .getJsonArray("nodes")
            .getJsonObject(0)
            .getJsonArray("gpus")
            .getJsonObject(0)
            .getJsonArray("holds")
            .getJsonObject(0);
    assertThat(held.getInteger("replicas")).isEqualTo(3);
    assertThat(held.getInteger("replicasPerGpu")).isEqualTo(4);
  }

  private static JsonObject json(Inspection inspection) throws IOException {
    var text = new StringWriter();
    Pages.json(inspection, text);
    return new JsonObject(text.toString());
  }

  private static Inspection inspection(String... names) {
    var nodes =
        IntStream.range(0, names.length)
            .mapToObj(
                i ->
                    new Inspection.Node(
                        names[i], Availability.AVAILABLE, List.of(gpu(names[i])), List.of()))
            .toList();
    return new Inspection(nodes, Map.of("bound", 2), 1);
  }

  private static Inspection.Gpu gpu(String node) {
    var view =
        new GpuView(
            "GPU-" + node,
            0,
            "Tesla T4\nb forged 7/10\u202e",
            "nvidia.com/gpu",
            10,
            true,
            false,
            7,
            GpuView.UNLIMITED,
            10L << 30,
            7L << 30,
            0.3,
            true,
            true,
            "",
            LoadForecast.certain(0.3, UsageDistribution.GUESS),
            0);
    var reading = new LoadReading(3L << 30, 0.9, 0.2, 1, 100, Map.of(), Map.of());
    return new Inspection.Gpu(
        view, 0, 0.2, 3L << 30, 100, List.of(), Map.of(), Optional.of(reading));
  }
}
