package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.PodSpecs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Parts of an older version beside parts of this one, while pods come and go. Each step upgrades or
 * rolls back one part, and together they make every mix. {@code e2e/skew/run.sh} builds the older
 * image, and runs this. The chart is the last release's, whose flags both versions take.
 */
@Tag("skew")
@Order(1_125)
class SkewE2E {
  private static final String NODE = "one";
  private static final int GPUS = 2;
  private static final Path POD_RESOURCES = UndisturbedPods.podResources("skew");

  /** A part with the container that has its image. */
  private enum Part {
    WEBHOOK("deployment/tranche-webhook", "webhook"),
    EXTENDER("deployment/tranche-extender", "extender"),
    NODE_PLUGIN("daemonset/tranche-node-plugin", "node-plugin");

    final String workload;
    final String container;

    Part(String workload, String container) {
      this.workload = workload;
      this.container = container;
    }
  }

  private record Step(Part part, boolean upgrade) {}

  /** Through all eight mixes and back to the first one. */
  private static final List<Step> STEPS =
      List.of(
          new Step(Part.WEBHOOK, true),
          new Step(Part.EXTENDER, true),
          new Step(Part.WEBHOOK, false),
          new Step(Part.NODE_PLUGIN, true),
          new Step(Part.WEBHOOK, true),
          new Step(Part.EXTENDER, false),
          new Step(Part.WEBHOOK, false),
          new Step(Part.NODE_PLUGIN, false));

  @Test
  void everyMixOfParts_placesPods_andDisturbsNone() throws Exception {
    String built = Objects.requireNonNull(System.getProperty("tranche.older"), "e2e/skew/run.sh");
    var older = Artifacts.of(Path.of(built));
    String image = Artifacts.of(Walkthrough.ROOT).image();
    assertThat(older.image()).as("the older image").isNotEqualTo(image);
    try (var reader = Walkthrough.start("../operations.md", NODE, POD_RESOURCES)) {
      reader.cluster().loadImages(older.imageTar());
      reader.terminal().set("IMAGE_TAG", tag(older.image()));
      Files.writeString(reader.terminal().folder().resolve("values.yaml"), "{replicas: 10}");
      reader.typeOwn(
          "helm install tranche %s/e2e/last-release/tranche -n tranche --create-namespace -f values.yaml --wait"
              .formatted(Walkthrough.ROOT));
      reader.awaitAllocatable(NODE, GPUS * 10);
      var pods = new UndisturbedPods(reader, POD_RESOURCES);
      pods.run(PodSpecs.fraction("share", "0.3"));

      try (var traffic = Traffic.start(reader)) {
        int number = 0;
        for (Step step : STEPS) {
          replace(reader, step, step.upgrade() ? image : older.image());
          pods.run(PodSpecs.fraction("after-step-" + number++, "0.1"));
          pods.awaitCounted("tranche", NODE);
          pods.check();
        }
        reader.terminal().set("IMAGE_TAG", tag(image));
        reader.type("Upgrade");
        pods.run(PodSpecs.fraction("after-all", "0.1"));
        traffic.stopAndCheck();
      }
      pods.awaitCounted("tranche", NODE);
      pods.check();
    }
  }

  private static String tag(String image) {
    return image.substring(image.lastIndexOf(':') + 1);
  }

  private static void replace(Walkthrough reader, Step step, String image) {
    Part part = step.part();
    reader.typeOwn(
        "kubectl -n tranche set image %s %s=%s && kubectl -n tranche rollout status %1$s --timeout=3m"
            .formatted(part.workload, part.container, image));
  }
}
