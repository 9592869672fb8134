package dev.tranche.webhook.nodes;

import dev.tranche.api.Names;
import dev.tranche.api.RequestBounds;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * A node with GPUs, Tranche's or a foreign one. Its labels are read once, since every pod that
 * requests a share is checked against every node.
 */
public final class GpuNode {
  private static final String LABEL_COUNT = "nvidia.com/gpu.count";
  private static final Pattern POSITIVE = Pattern.compile("[1-9]\\d{0,8}");
  private static final long MIB = 1L << 20;

  private final String name;
  private final Map<String, String> labels;
  private final Map<String, Long> capacity;
  private final Taints taints;
  private final OptionalInt replicasPerGpu;
  private final OptionalInt gpus;
  private final OptionalInt gpusOfAllModels;
  private final OptionalInt memoryMib;
  private final OptionalInt usableMib;
  private final Optional<String> product;
  private final boolean servedByDra;
  private final boolean tranches;

  /**
   * @param labels all labels, since pods select by any of them
   * @param capacity replicas of each GPU resource, of a foreign node the allocatable; empty if
   *     unknown
   */
  public GpuNode(
      String name, Map<String, String> labels, Map<String, Long> capacity, Taints taints) {
    this.name = name;
    this.labels = Map.copyOf(labels);
    this.capacity = Map.copyOf(capacity);
    this.taints = taints;
    servedByDra = isOfDra(labels);
    tranches = isTranches(labels);
    gpus = positiveLabel(LABEL_COUNT);
    gpusOfAllModels = positiveLabel(Names.LABEL_GPUS);
    replicasPerGpu = labelledReplicas();
    memoryMib = positiveLabel(Names.LABEL_MEMORY);
    usableMib = positiveLabel(Names.LABEL_MEMORY_USABLE);
    product = Optional.ofNullable(labels.get(Names.LABEL_PRODUCT)).filter(p -> !p.isEmpty());
  }

  public String name() {
    return name;
  }

  public Map<String, String> labels() {
    return labels;
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
    return servedByDra || (!tranches && capacity.values().stream().anyMatch(count -> count > 0));
  }

  /** Whether a DRA driver serves the GPUs, so that numbers count whole ones. */
  public boolean servedByDra() {
    return servedByDra;
  }

  public Taints taints() {
    return taints;
  }

  /** Returns R; empty unless the label is a number from 1 to the maximum of replicas. */
  public OptionalInt replicasPerGpu() {
    return replicasPerGpu;
  }

  /** Returns the number of GPUs of all models, as far as it is known. */
  public OptionalInt gpus() {
    return gpusOfAllModels.isPresent() ? gpusOfAllModels : gpus;
  }

  /**
   * Whether the node has more GPUs than Feature Discovery's labels describe: those state the count
   * and the product of one model only.
   */
  public boolean mixed() {
    return gpusOfAllModels.orElse(0) > gpus.orElse(Integer.MAX_VALUE);
  }

  /** Memory of one GPU, with the driver's part, as the label says it. */
  public OptionalInt memoryMib() {
    return memoryMib;
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
    return mixed() ? Optional.empty() : product;
  }

  /** Returns the product label, whether or not it applies to all of the node's GPUs. */
  public Optional<String> labelledProduct() {
    return product;
  }

  public boolean sharesByMps() {
    return "mps".equals(labels.get(Names.LABEL_SHARING_STRATEGY));
  }

  /** With more than the node plugin's maximum, the replicas of a share could exceed an int. */
  private OptionalInt labelledReplicas() {
    OptionalInt labelled = positiveLabel(Names.LABEL_REPLICAS_PER_GPU);
    return !tranches || labelled.orElse(0) > RequestBounds.REPLICAS_MAX
        ? OptionalInt.empty()
        : labelled;
  }

  private OptionalInt positiveLabel(String label) {
    String text = labels.getOrDefault(label, "");
    return POSITIVE.matcher(text).matches()
        ? OptionalInt.of(Integer.parseInt(text))
        : OptionalInt.empty();
  }
}
