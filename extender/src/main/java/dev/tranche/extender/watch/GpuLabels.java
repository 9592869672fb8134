package dev.tranche.extender.watch;

import dev.tranche.api.Names;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.SharingStrategy;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The labels that GPU Feature Discovery would give a node's GPUs, and which of them we have
 * written.
 */
public final class GpuLabels {
  private static final String PREFIX = Names.RESOURCE + ".";

  /**
   * Written by the GPU Operator, not by Feature Discovery. The Operator leaves our {@code true}
   * alone, but writes {@code false} where Node Feature Discovery sees no GPU.
   */
  static final String PRESENT = PREFIX + "present";

  /**
   * By the labels of our own, without that prefix, the webhook decides. The report wins over
   * whoever else writes them. We write and remove them even if Feature Discovery runs.
   */
  private static final List<String> OURS =
      List.of(
          PREFIX + "count",
          PREFIX + "memory",
          PRESENT,
          PREFIX + "product",
          PREFIX + "replicas",
          PREFIX + "sharing-strategy",
          Names.LABEL_GPUS,
          Names.LABEL_MEMORY_USABLE,
          Names.LABEL_REPLICAS_PER_GPU,
          Names.LABEL_SHARING_STRATEGY);

  /**
   * Labels that say what the node has, not what the plugin offers. A DaemonSet's node selector may
   * use them, our plugin's too: without them it would never return. The other labels are removed
   * with the plugin.
   */
  private static final Set<String> PERMANENT =
      Set.of(PRESENT, PREFIX + "count", PREFIX + "memory", PREFIX + "product");

  /** All that a {@link WatchedNode} has of its Node's labels. */
  private static final Set<String> ALL =
      Stream.of(OURS, Names.LABELS_OF_DISCOVERY, Set.of(Names.SERVED_BY))
          .flatMap(Collection::stream)
          .collect(Collectors.toUnmodifiableSet());

  /** Characters that a label value may not contain, except spaces, which become dashes. */
  private static final Pattern INVALID = Pattern.compile("[^A-Za-z0-9_. -]");

  private GpuLabels() {}

  /** Returns the labels for a report's GPUs; empty without a GPU. */
  public static Map<String, String> of(NodeReport report) {
    List<Gpu> gpus =
        report.getGpusList().stream()
            .filter(g -> g.getResource().startsWith(Names.RESOURCE))
            .toList();
    if (gpus.isEmpty()) {
      return Map.of();
    }
    List<Gpu> sameProductGpus = mostNumerous(gpus);
    Map<String, String> labels = of(sameProductGpus.getFirst(), sameProductGpus.size());
    labels.put(Names.LABEL_GPUS, Integer.toString(gpus.size()));
    long usableMib = gpus.stream().mapToLong(GpuLabels::usableMib).min().orElse(0);
    if (usableMib > 0) {
      labels.put(Names.LABEL_MEMORY_USABLE, Long.toString(usableMib));
    }
    return labels;
  }

  /** What the driver leaves to pods; a request by memory must fit the smallest GPU. */
  private static long usableMib(Gpu gpu) {
    return (gpu.getMemoryTotalBytes() - gpu.getMemoryReservedBytes()) >> 20;
  }

  // As Feature Discovery does, which labels one product per node. Of equal counts, the lowest index
  // wins.
  private static List<Gpu> mostNumerous(List<Gpu> gpus) {
    Map<String, List<Gpu>> byProduct =
        gpus.stream().collect(Collectors.groupingBy(GpuLabels::product));
    return byProduct.values().stream()
        .max(
            Comparator.<List<Gpu>>comparingInt(List::size)
                .thenComparingInt(sameProductGpus -> -sameProductGpus.getFirst().getIndex()))
        .orElseThrow();
  }

  private static Map<String, String> of(Gpu gpu, int count) {
    var labels = new TreeMap<String, String>();
    String replicas = Integer.toString(Math.max(1, gpu.getReplicas()));
    labels.put(PRESENT, "true");
    labels.put(PREFIX + "count", Integer.toString(count));
    labels.put(PREFIX + "product", product(gpu));
    labels.put(PREFIX + "replicas", replicas);
    labels.put(PREFIX + "sharing-strategy", strategy(gpu));
    labels.put(Names.LABEL_REPLICAS_PER_GPU, replicas);
    labels.put(Names.LABEL_SHARING_STRATEGY, strategy(gpu));
    // A GPU that uses the system's memory reports no size.
    if (gpu.getMemoryTotalBytes() > 0) {
      labels.put(PREFIX + "memory", Long.toString(gpu.getMemoryTotalBytes() >> 20));
    }
    return labels;
  }

  private static String strategy(Gpu gpu) {
    if (!shared(gpu)) {
      return "none";
    }
    return gpu.getSharingStrategy() == SharingStrategy.SHARING_STRATEGY_MPS
        ? "mps"
        : "time-slicing";
  }

  private static boolean shared(Gpu gpu) {
    return gpu.getShared() && gpu.getReplicas() > 1;
  }

  /**
   * Returns a label such as {@code Tesla-T4-SHARED}. The name of a renamed resource shows by itself
   * that it is shared.
   */
  private static String product(Gpu gpu) {
    String profile = gpu.getMigProfile().isEmpty() ? "" : "-MIG-" + sanitized(gpu.getMigProfile());
    boolean suffixed = shared(gpu) && gpu.getResource().equals(Names.RESOURCE);
    return sanitized(gpu.getModel()) + profile + (suffixed ? "-SHARED" : "");
  }

  /** Turns a text into a label value, with dashes for spaces. */
  private static String sanitized(String text) {
    return INVALID.matcher(text).replaceAll("").strip().replaceAll(" +", "-");
  }

  /**
   * Returns the node's labels that matter here. Strings are interned, since thousands of nodes have
   * the same labels.
   */
  static Map<String, String> relevant(Map<String, String> labels) {
    return labels.entrySet().stream()
        .filter(label -> ALL.contains(label.getKey()))
        .collect(
            Collectors.toUnmodifiableMap(
                label -> label.getKey().intern(), label -> label.getValue().intern()));
  }

  /**
   * The changes to write.
   *
   * @param labels to set; an empty value removes the label
   * @param labelsAnnotation the annotation that lists the labels that are ours; empty: none
   */
  public record Change(Map<String, String> labels, String labelsAnnotation) {}

  /**
   * Compares the node's labels with the wanted ones. A label of NVIDIA's that we did not write, or
   * whose value has changed since, belongs to somebody else and stays. Where Feature Discovery
   * runs, those that it writes are left to it. It may have taken them over, and removing them would
   * lose them. Labels of our own always follow the report.
   *
   * @param labelsAnnotation the current annotation: {@code key=value}, comma-separated
   */
  public static Optional<Change> change(
      Map<String, String> labels, String labelsAnnotation, Map<String, String> wanted) {
    Map<String, String> ours = ours(labels, labelsAnnotation);
    boolean discovered = Names.LABELS_OF_DISCOVERY.stream().anyMatch(labels::containsKey);
    var set = new TreeMap<String, String>();
    var kept = new TreeMap<String, String>();
    for (String key : OURS) {
      boolean own = !key.startsWith(PREFIX);
      boolean free = own || ours.containsKey(key) || !labels.containsKey(key);
      String value = discovered && !own && !key.equals(PRESENT) ? null : wanted.get(key);
      if (free && value != null) {
        kept.put(key, value);
        if (!value.equals(labels.get(key))) {
          set.put(key, value);
        }
      } else if (ours.containsKey(key) && (!discovered || own)) {
        set.put(key, "");
      }
    }
    String now = text(kept);
    return set.isEmpty() && now.equals(labelsAnnotation)
        ? Optional.empty()
        : Optional.of(new Change(set, now));
  }

  /**
   * Of our labels, those that stay for as long as the node exists.
   *
   * @param labelsAnnotation as in {@link #change}
   */
  public static Map<String, String> permanent(Map<String, String> labels, String labelsAnnotation) {
    var kept = new TreeMap<>(ours(labels, labelsAnnotation));
    kept.keySet().retainAll(PERMANENT);
    return kept;
  }

  private static Map<String, String> ours(Map<String, String> labels, String labelsAnnotation) {
    return List.of(labelsAnnotation.split(",", -1)).stream()
        .map(pair -> pair.split("=", 2))
        .filter(pair -> pair.length == 2 && OURS.contains(pair[0]))
        .filter(pair -> pair[1].equals(labels.get(pair[0])))
        .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1], (a, b) -> b));
  }

  private static String text(Map<String, String> labels) {
    return labels.entrySet().stream()
        .map(e -> e.getKey() + "=" + e.getValue())
        .collect(Collectors.joining(","));
  }
}
