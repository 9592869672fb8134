package dev.tranche.webhook.nodes;

import dev.tranche.api.Names;
import dev.tranche.api.Quantity;
import dev.tranche.api.RequestBounds;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * A node with GPUs, Tranche's or a foreign one. Its labels are read once, since every pod that
 * requests a share is checked against every node.
 *
 * @param labels all labels, since pods select by any of them
 * @param capacity replicas of each GPU resource, of a foreign node the allocatable; empty if
 *     unknown
 * @param servedByDra whether a DRA driver serves the GPUs, so that numbers count whole ones
 * @param replicasPerGpu R; empty unless the label is a number from 1 to the maximum of replicas
 * @param gpusOfOneModel as Feature Discovery counts them
 * @param memoryMib memory of one GPU, with the driver's part, as the label says it
 * @param labelledProduct the product, whether or not it applies to all of the node's GPUs
 */
public record GpuNode(
    String name,
    Map<String, String> labels,
    Map<String, Long> capacity,
    Taints taints,
    boolean servedByDra,
    OptionalInt replicasPerGpu,
    OptionalInt gpusOfOneModel,
    OptionalInt gpusOfAllModels,
    OptionalInt memoryMib,
    OptionalInt usableMib,
    Optional<String> labelledProduct) {
  private static final String LABEL_COUNT = "nvidia.com/gpu.count";
  private static final long MIB = 1L << 20;

  public GpuNode(
      String name, Map<String, String> labels, Map<String, Long> capacity, Taints taints) {
    this(
        name,
        Map.copyOf(labels),
        Map.copyOf(capacity),
        taints,
        isOfDra(labels),
        labelledReplicas(labels),
        positive(labels, LABEL_COUNT),
        positive(labels, Names.LABEL_GPUS),
        positive(labels, Names.LABEL_MEMORY),
        positive(labels, Names.LABEL_MEMORY_USABLE),
        Optional.ofNullable(labels.get(Names.LABEL_PRODUCT)).filter(p -> !p.isEmpty()));
  }

  /** Whether the node has some of a resource. A DRA driver's devices are in no capacity. */
  public boolean offers(String resource) {
    return servedByDra || capacity.getOrDefault(resource, 0L) > 0;
  }

  /** Whether Tranche serves the node: the extender's label says so, or that of a node pool. */
  static boolean isTranches(Map<String, String> labels) {
    return !isOfDra(labels) && labels.containsKey(Names.LABEL_REPLICAS_PER_GPU);
  }

  /** It may have the labels of an earlier plugin. */
  private static boolean isOfDra(Map<String, String> labels) {
    return Names.DRA.equals(labels.get(Names.SERVED_BY));
  }

  /** Whether it offers GPUs without Tranche, as a virtual kubelet or a DRA driver does. */
  public boolean isForeign() {
    // Every review asks every node, and most have replicas.
    return servedByDra
        || (replicasPerGpu.isEmpty()
            && !isTranches(labels)
            && capacity.values().stream().anyMatch(count -> count > 0));
  }

  /** Returns the number of GPUs of all models, as far as it is known. */
  public OptionalInt gpus() {
    return gpusOfAllModels.isPresent() ? gpusOfAllModels : gpusOfOneModel;
  }

  /**
   * Whether the node has more GPUs than Feature Discovery's labels describe: those state the count
   * and the product of one model only.
   */
  public boolean mixed() {
    return gpusOfAllModels.orElse(0) > gpusOfOneModel.orElse(Integer.MAX_VALUE);
  }

  /**
   * Memory of one GPU that programs can have.
   *
   * @param reserveBytes the driver's part, where no label says what is usable
   */
  public OptionalLong usableBytes(long reserveBytes) {
    if (usableMib.isPresent()) {
      int mib = Math.min(usableMib.getAsInt(), memoryMib.orElse(Integer.MAX_VALUE));
      return OptionalLong.of(mib * MIB);
    }
    return memoryMib.isPresent()
        ? OptionalLong.of(Math.max(0, memoryMib.getAsInt() * MIB - reserveBytes))
        : OptionalLong.empty();
  }

  /**
   * Returns the product as GPU Feature Discovery writes it; empty if it does not apply to all GPUs.
   */
  public Optional<String> product() {
    return mixed() ? Optional.empty() : labelledProduct;
  }

  public boolean sharesByMps() {
    return "mps".equals(labels.get(Names.LABEL_SHARING_STRATEGY));
  }

  /** With more than the node plugin's maximum, the replicas of a share could exceed an int. */
  private static OptionalInt labelledReplicas(Map<String, String> labels) {
    OptionalInt labelled = positive(labels, Names.LABEL_REPLICAS_PER_GPU);
    return !isTranches(labels) || labelled.orElse(0) > RequestBounds.REPLICAS_MAX
        ? OptionalInt.empty()
        : labelled;
  }

  private static OptionalInt positive(Map<String, String> labels, String label) {
    int number = Quantity.positive(labels.getOrDefault(label, ""));
    return number > 0 ? OptionalInt.of(number) : OptionalInt.empty();
  }
}
