package dev.tranche.extender.watch;

import dev.tranche.api.Names;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.SharingStrategy;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A node's GPUs as GPU Feature Discovery would label them, and who has written which label. */
public final class GpuLabels {
  private static final String PREFIX = Names.RESOURCE + ".";

  /** Not Feature Discovery's but the GPU Operator's; both leave it alone when it is there. */
  static final String PRESENT = PREFIX + "present";

  /** That Feature Discovery writes and we never do; the first can be switched off. */
  private static final List<String> DISCOVERY =
      List.of(
          "nvidia.com/gfd.timestamp",
          PREFIX + "family",
          PREFIX + "compute.major",
          "nvidia.com/cuda.driver.major");

  private static final List<String> OURS =
      List.of(
          PREFIX + "count",
          PREFIX + "memory",
          PRESENT,
          PREFIX + "product",
          PREFIX + "replicas",
          PREFIX + "sharing-strategy",
          Names.LABEL_GPUS,
          Names.LABEL_MEMORY_USABLE);

  /**
   * They say what the node has, not what the plugin offers, so a DaemonSet may be selected by them:
   * ours, too, which would never come back. The others go when the plugin does.
   */
  private static final Set<String> LASTING =
      Set.of(PRESENT, PREFIX + "count", PREFIX + "memory", PREFIX + "product");

  /** Not Feature Discovery's: ours to write and to take away, where it runs too. */
  private static final Set<String> NOT_DISCOVERYS =
      Set.of(PRESENT, Names.LABEL_GPUS, Names.LABEL_MEMORY_USABLE);

  /** Those of them that we take away although Feature Discovery runs. */
  private static final Set<String> OFFERED = Set.of(Names.LABEL_GPUS, Names.LABEL_MEMORY_USABLE);

  private static final Set<String> ALL =
      Stream.concat(OURS.stream(), DISCOVERY.stream()).collect(Collectors.toUnmodifiableSet());

  /** What no label may hold, but for spaces. */
  private static final Pattern INVALID = Pattern.compile("[^A-Za-z0-9_. -]");

  private GpuLabels() {}

  /** What a report's GPUs make; empty without a GPU. */
  public static Map<String, String> of(NodeReport report) {
    List<Gpu> gpus =
        report.getGpusList().stream()
            .filter(g -> g.getResource().startsWith(Names.RESOURCE))
            .toList();
    if (gpus.isEmpty()) {
      return Map.of();
    }
    List<Gpu> alike = mostNumerous(gpus);
    Map<String, String> labels = of(alike.getFirst(), alike.size());
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

  // Like Feature Discovery, which knows one product per node; of equals the one seen first.
  private static List<Gpu> mostNumerous(List<Gpu> gpus) {
    if (gpus.stream().allMatch(gpu -> sameProduct(gpu, gpus.getFirst()))) {
      return gpus;
    }
    Map<String, List<Gpu>> byProduct =
        gpus.stream().collect(Collectors.groupingBy(GpuLabels::product));
    return byProduct.values().stream()
        .max(
            Comparator.<List<Gpu>>comparingInt(List::size)
                .thenComparingInt(alike -> -alike.getFirst().getIndex()))
        .orElseThrow();
  }

  /** Of one product for sure. Nearly all nodes' are, and each report asks. */
  private static boolean sameProduct(Gpu gpu, Gpu first) {
    return gpu.getModel().equals(first.getModel())
        && gpu.getMigProfile().equals(first.getMigProfile())
        && gpu.getResource().equals(first.getResource())
        && shared(gpu) == shared(first);
  }

  private static Map<String, String> of(Gpu gpu, int count) {
    var labels = new TreeMap<String, String>();
    labels.put(PRESENT, "true");
    labels.put(PREFIX + "count", Integer.toString(count));
    labels.put(PREFIX + "product", product(gpu));
    labels.put(PREFIX + "replicas", Integer.toString(Math.max(1, gpu.getReplicas())));
    labels.put(PREFIX + "sharing-strategy", strategy(gpu));
    // A GPU that uses the system's memory has none that it could tell.
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

  /** {@code Tesla-T4-SHARED}; a renamed resource says itself that it is shared. */
  private static String product(Gpu gpu) {
    String profile = gpu.getMigProfile().isEmpty() ? "" : "-MIG-" + sane(gpu.getMigProfile());
    boolean suffixed = shared(gpu) && gpu.getResource().equals(Names.RESOURCE);
    return sane(gpu.getModel()) + profile + (suffixed ? "-SHARED" : "");
  }

  /** What a label may hold, with a dash for spaces. */
  private static String sane(String text) {
    return INVALID.matcher(text).replaceAll("").strip().replaceAll(" +", "-");
  }

  /**
   * Of a node's labels, those that matter here; thousands of nodes have the same: each is kept
   * once.
   */
  static Map<String, String> mattering(Map<String, String> labels) {
    var kept = new HashMap<String, String>();
    labels.forEach(
        (key, value) -> {
          if (ALL.contains(key)) {
            kept.put(key.intern(), value.intern());
          }
        });
    return Map.copyOf(kept);
  }

  /**
   * What to write.
   *
   * @param labels to set; an empty value stands for removal
   * @param written the annotation that says which labels are ours; empty: none
   */
  public record Change(Map<String, String> labels, String written) {}

  /**
   * Compares what is there with what should be. A label that we did not write, or whose value is no
   * more the one that we wrote, is somebody else's and stays. Where Feature Discovery is seen, ours
   * are left to it: it may have taken them over by then, and a removal would be a loss.
   *
   * @param written the annotation as it stands: {@code key=value}, comma-separated
   */
  public static Optional<Change> change(
      Map<String, String> labels, String written, Map<String, String> wanted) {
    Map<String, String> ours = ours(labels, written);
    boolean discovered = DISCOVERY.stream().anyMatch(labels::containsKey);
    var set = new TreeMap<String, String>();
    var kept = new TreeMap<String, String>();
    for (String key : OURS) {
      boolean free = ours.containsKey(key) || !labels.containsKey(key);
      String value = discovered && !NOT_DISCOVERYS.contains(key) ? null : wanted.get(key);
      if (free && value != null) {
        kept.put(key, value);
        if (!value.equals(labels.get(key))) {
          set.put(key, value);
        }
      } else if (ours.containsKey(key) && (!discovered || OFFERED.contains(key))) {
        set.put(key, "");
      }
    }
    String now = text(kept);
    return set.isEmpty() && now.equals(written)
        ? Optional.empty()
        : Optional.of(new Change(set, now));
  }

  /**
   * Of our labels, those that stay for as long as the node exists.
   *
   * @param written as in {@link #change}
   */
  public static Map<String, String> lasting(Map<String, String> labels, String written) {
    var kept = new TreeMap<>(ours(labels, written));
    kept.keySet().retainAll(LASTING);
    return kept;
  }

  private static Map<String, String> ours(Map<String, String> labels, String written) {
    return List.of(written.split(",", -1)).stream()
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
