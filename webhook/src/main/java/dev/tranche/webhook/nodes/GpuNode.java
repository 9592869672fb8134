package dev.tranche.webhook.nodes;

import dev.tranche.api.Names;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * A node that is labelled with its replicas per GPU.
 *
 * @param labels all of them, since pods select by any
 */
public record GpuNode(String name, Map<String, String> labels) {
  private static final String LABEL_COUNT = "nvidia.com/gpu.count";
  private static final Pattern POSITIVE = Pattern.compile("[1-9]\\d{0,8}");
  private static final long MIB = 1L << 20;

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

  /** Memory of one GPU, with the driver's part, as the label says it. */
  public OptionalInt memoryMib() {
    return positive(Names.LABEL_MEMORY);
  }

  /**
   * Memory of one GPU that programs can have.
   *
   * @param reserveBytes the driver's part, where no label says what is usable
   */
  public OptionalLong usableBytes(long reserveBytes) {
    OptionalInt usable = positive(Names.LABEL_MEMORY_USABLE);
    if (usable.isPresent()) {
      return OptionalLong.of(usable.getAsInt() * MIB);
    }
    OptionalInt total = memoryMib();
    return total.isPresent()
        ? OptionalLong.of(Math.max(0, total.getAsInt() * MIB - reserveBytes))
        : OptionalLong.empty();
  }

  /** The product as GPU Feature Discovery writes it. */
  public Optional<String> product() {
    return Optional.ofNullable(labels.get(Names.LABEL_PRODUCT)).filter(p -> !p.isEmpty());
  }

  public boolean sharesByMps() {
    return labels.getOrDefault(Names.LABEL_SHARING, "").equals("mps");
  }

  private OptionalInt positive(String label) {
    String text = labels.getOrDefault(label, "");
    return POSITIVE.matcher(text).matches()
        ? OptionalInt.of(Integer.parseInt(text))
        : OptionalInt.empty();
  }
}
