package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.GrantedGpus;
import dev.tranche.api.Names;
import dev.tranche.extender.load.Readings;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.TestGpu;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class NodeUseTest {
  private static final Instant NOW = Instant.parse("2026-11-23T20:14:31.567Z");
  private static final NodeUse USE = new NodeUse(new GrantedGpus(23, 8, 114, 8, 20), 41, 63, 640);
  private static final String TEXT =
      "2.3 of 8 GPUs granted, largest free share 8/20, 114 replicas free, 41% SM load, 63 of 640"
          + " GiB memory used, as of 2026-11-23T20:14:31Z";

  @Test
  void use_isASentenceForPeople() {
    assertThat(USE.text(NOW)).isEqualTo(TEXT);
    assertThat(new NodeUse(new GrantedGpus(0, 1, 10, 10, 10), -1, 0, 16).text(NOW))
        .isEqualTo(
            "0.0 of 1 GPUs granted, largest free share 10/10, 10 replicas free, 16 GiB memory, use"
                + " not measured, as of 2026-11-23T20:14:31Z");
  }

  @Test
  void memory_isThatOfTheMeasuredGpus() {
    var world = new FakeWorld(Policy.LOAD);
    world.report(
        "a",
        Map.of("a0", Readings.of(4 * FakeWorld.GIB, 0.5, 0, world.nowMs)),
        new Gpu("a0", 0, 0),
        new Gpu("a1", 0, 0));
    assertThat(NodeUse.of(world.evaluator.gpus().apply("a"), Names.RESOURCE, world.loads, "a"))
        .contains(new NodeUse(new GrantedGpus(0, 2, 20, 10, 10), 50, 4, 10));
    world.report("a", Map.of(), new Gpu("a0", 0, 0), new Gpu("a1", 0, 0));
    world.nowMs += 60_000;
    assertThat(NodeUse.of(world.evaluator.gpus().apply("a"), Names.RESOURCE, world.loads, "a"))
        .contains(new NodeUse(new GrantedGpus(0, 2, 20, 10, 10), -1, 0, 20));
  }

  @Test
  void digits_areThoseThatEverybodyReads() {
    Locale before = Locale.getDefault(Locale.Category.FORMAT);
    Locale.setDefault(Locale.Category.FORMAT, Locale.forLanguageTag("ar-EG-u-nu-arab"));
    try {
      assertThat(USE.text(NOW)).isEqualTo(TEXT);
    } finally {
      Locale.setDefault(Locale.Category.FORMAT, before);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "23, 8, 114, 8, 41, 63, 640, false",
    "24, 8, 114, 8, 41, 63, 640, true",
    "23, 7, 114, 8, 41, 63, 640, true",
    "23, 8, 115, 8, 41, 63, 640, true",
    "23, 8, 113, 8, 41, 63, 640, true",
    "23, 8, 114, 9, 41, 63, 640, false",
    "23, 8, 114, 10, 41, 63, 640, true",
    "23, 8, 114, 7, 41, 63, 640, true",
    "23, 8, 114, 8, 50, 63, 640, false",
    "23, 8, 114, 8, 51, 63, 640, true",
    "23, 8, 114, 8, 31, 63, 640, true",
    "23, 8, 114, 8, 41, 95, 640, false",
    "23, 8, 114, 8, 41, 96, 640, true",
    "23, 8, 114, 8, 41, 63, 641, true",
    "23, 8, 114, 8, -1, 0, 640, true",
  })
  void smallChanges_areNotWorthAWrite(
      int tenths, int gpus, int free, int share, int sm, long used, long total, boolean differs) {
    var use = new NodeUse(new GrantedGpus(tenths, gpus, free, share, 20), sm, used, total);
    assertThat(use.differsFrom(USE)).isEqualTo(differs);
  }

  /** The sum of tenths would hide every second of them. */
  @ParameterizedTest
  @ValueSource(ints = {10, 20, 60})
  void eachReplica_isWritten(int replicasPerGpu) {
    for (int free = 0; free < replicasPerGpu; free++) {
      NodeUse less = of(new TestGpu("a").replicas(replicasPerGpu, free));
      NodeUse more = of(new TestGpu("a").replicas(replicasPerGpu, free + 1));
      assertThat(more.differsFrom(less)).as("%d more than %s", 1, less).isTrue();
      assertThat(GrantedGpus.read(more.text(NOW)).orElseThrow().granted())
          .isEqualTo(more.granted());
      assertThat(more.granted().leaves(free + 1, free + 1, replicasPerGpu)).isTrue();
      assertThat(more.granted().leaves(free + 2, free + 1, replicasPerGpu)).isFalse();
    }
  }

  @Test
  void freeReplicas_areThoseOfGpusThatTakePods() {
    TestGpu[] gpus = {
      new TestGpu("a").replicas(20, 9),
      new TestGpu("b").replicas(20, 7),
      new TestGpu("c").replicas(20, 20).unhealthy(),
      new TestGpu("d").replicas(20, 20).cordoned(true)
    };
    assertThat(of(gpus).granted()).isEqualTo(new GrantedGpus(12, 4, 16, 9, 20));
  }

  private static NodeUse of(TestGpu... gpus) {
    List<GpuView> views = Arrays.stream(gpus).map(TestGpu::view).toList();
    return NodeUse.of(views, Names.RESOURCE, new FakeWorld(Policy.LOAD).loads, "a").orElseThrow();
  }

  /** Neither what is granted nor a GPU that takes no pods is room. */
  @Test
  void largestFreeShare_isThatOfTheGpuWithTheMostByMeasuredMemory() {
    var world = new FakeWorld(Policy.LOAD);
    world.report(
        "a",
        Map.of(
            "a0", Readings.of(9 * FakeWorld.GIB, 0.5, 0, world.nowMs),
            "a1", Readings.of(6 * FakeWorld.GIB, 0.5, 0, world.nowMs)),
        new Gpu("a0", 0, 0),
        new Gpu("a1", 0, 0));
    assertThat(freeShare(world, Names.RESOURCE)).isEqualTo("4/10");
    assertThat(freeShare(world, "nvidia.com/mig-1g.10gb")).isEqualTo("0/1");
  }

  private static String freeShare(FakeWorld world, String resource) {
    GrantedGpus granted =
        NodeUse.of(world.evaluator.gpus().apply("a"), resource, world.loads, "a")
            .orElseThrow()
            .granted();
    return granted.freeShare() + "/" + granted.replicasPerGpu();
  }
}
