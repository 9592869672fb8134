package dev.tranche.webhook.nodes;

import dev.tranche.api.Names;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * A node that is labelled with its replicas per GPU. Its labels are read once, since every pod that
 * asks for a share looks at every node.
 */
public final class GpuNode {
  private static final String LABEL_COUNT = "nvidia.com/gpu.count";

  /** A MIG device is a part of a GPU, not another one. */
  private static final String MIG = "nvidia.com/mig-";

  private static final Pattern POSITIVE = Pattern.compile("[1-9]\\d{0,8}");
  private static final long MIB = 1L << 20;

  /** As the node plugin has it; a share of more could be more than an int holds. */
  private static final int REPLICAS_MAX = 10_000;

  private final String name;
  private final Map<String, String> labels;
  private final Map<String, Long> capacity;
  private final Taints taints;
  private final long replicas;
  private final OptionalInt replicasPerGpu;
  private final OptionalInt gpus;
  private final OptionalInt gpusOfAllModels;
  private final OptionalInt memoryMib;
  private final OptionalInt usableMib;
  private final Optional<String> product;

  /** A node of one model, whose capacity is not known. */
  public GpuNode(String name, Map<String, String> labels) {
    this(name, labels, Map.of(), Taints.NONE);
  }

  /**
   * @param labels all of them, since pods select by any
   * @param capacity replicas of its GPUs' resources; empty: not known
   */
  public GpuNode(
      String name, Map<String, String> labels, Map<String, Long> capacity, Taints taints) {
    this.name = name;
    this.labels = Map.copyOf(labels);
    this.capacity = Map.copyOf(capacity);
    this.taints = taints;
    replicas =
        this.capacity.entrySet().stream()
            .filter(e -> !e.getKey().startsWith(MIG))
            .mapToLong(Map.Entry::getValue)
            .sum();
    OptionalInt cut = positive(Names.LABEL_REPLICAS);
    replicasPerGpu = cut.orElse(0) > REPLICAS_MAX ? OptionalInt.empty() : cut;
    gpus = positive(LABEL_COUNT);
    gpusOfAllModels = positive(Names.LABEL_GPUS);
    memoryMib = positive(Names.LABEL_MEMORY);
    usableMib = positive(Names.LABEL_MEMORY_USABLE);
    product = Optional.ofNullable(labels.get(Names.LABEL_PRODUCT)).filter(p -> !p.isEmpty());
  }

  public String name() {
    return name;
  }

  public Map<String, String> labels() {
    return labels;
  }

  /** Whether its kubelet counts some of a resource. */
  public boolean offers(String resource) {
    return capacity.getOrDefault(resource, 0L) > 0;
  }

  public Taints taints() {
    return taints;
  }

  /**
   * R, where the label is a number from 1 to what a node can have of replicas. GPU Feature
   * Discovery writes 0 for a node at fault.
   */
  public OptionalInt replicasPerGpu() {
    return replicasPerGpu;
  }

  /** Of all models, as far as is known. */
  public OptionalInt gpus() {
    if (!mixed()) {
      return gpus;
    }
    return gpusOfAllModels.isPresent()
        ? gpusOfAllModels
        : OptionalInt.of(Math.toIntExact(Math.ceilDiv(replicas, replicasPerGpu.orElse(1))));
  }

  /**
   * Whether it has more GPUs than its labels speak of: those tell the count and the product of one
   * model only. Where no label counts all GPUs, more replicas than that model has are taken for
   * another model's.
   */
  public boolean mixed() {
    if (gpusOfAllModels.isPresent()) {
      return gpus.isPresent() && gpusOfAllModels.getAsInt() > gpus.getAsInt();
    }
    long labelled = (long) gpus.orElse(0) * replicasPerGpu.orElse(0);
    return labelled > 0 && replicas > labelled && replicas < Integer.MAX_VALUE;
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
      return OptionalLong.of(usableMib.getAsInt() * MIB);
    }
    return memoryMib.isPresent()
        ? OptionalLong.of(Math.max(0, memoryMib.getAsInt() * MIB - reserveBytes))
        : OptionalLong.empty();
  }

  /** The product as GPU Feature Discovery writes it; empty where it does not stand for all. */
  public Optional<String> product() {
    return mixed() ? Optional.empty() : product;
  }

  /** What the node is labelled with, right for all of its GPUs or not. */
  public Optional<String> labelledProduct() {
    return product;
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
