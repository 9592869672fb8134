package dev.tranche.webhook.nodes;

import dev.tranche.api.Names;
import java.util.Map;
import java.util.OptionalInt;

/**
 * A node that is labelled with its replicas per GPU.
 *
 * @param labels all of them, since pods select by any
 */
public record GpuNode(String name, Map<String, String> labels) {
  private static final String LABEL_COUNT = "nvidia.com/gpu.count";

  public GpuNode {
    labels = Map.copyOf(labels);
  }

  /** R, where the label is a number from 1. GPU Feature Discovery writes 0 for a node at fault. */
  public OptionalInt replicasPerGpu() {
    return positive(Names.LABEL_REPLICAS);
  }

  public OptionalInt gpus() {
    return positive(LABEL_COUNT);
  }

  private OptionalInt positive(String label) {
    String text = labels.getOrDefault(label, "");
    return text.matches("[1-9]\\d{0,4}")
        ? OptionalInt.of(Integer.parseInt(text))
        : OptionalInt.empty();
  }
}
