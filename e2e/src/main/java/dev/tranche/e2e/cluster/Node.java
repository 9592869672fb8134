package dev.tranche.e2e.cluster;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The plan of a node. The first node of a cluster is the server, which runs pods, too.
 *
 * @param driver the folder of this machine that serves as the node's GPU driver, null without GPUs
 * @param mounts more folders or files of this machine, by their path on the node
 */
public record Node(
    String name, Map<String, String> labels, @Nullable Path driver, Map<String, Path> mounts) {
  /** Where the driver's folder lies on the node. */
  public static final String DRIVER_ROOT = "/opt/tranche-e2e/driver";

  public Node {
    if (!name.matches("[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?")) {
      throw new IllegalArgumentException("node name '%s' is not a DNS label".formatted(name));
    }
    labels = Map.copyOf(labels);
    mounts = Map.copyOf(mounts);
  }

  public static Node of(String name) {
    return new Node(name, Map.of(), null, Map.of());
  }

  public Node label(String key, String value) {
    return new Node(name, with(labels, key, value), driver, mounts);
  }

  /**
   * Gives the node GPUs: the folder holds {@code usr/lib64/libnvidia-ml.so.1} and {@code
   * gpus.state}.
   */
  public Node driver(Path folder) {
    return new Node(name, labels, folder, mounts);
  }

  public Node mount(Path ofThisMachine, String onTheNode) {
    return new Node(name, labels, driver, with(mounts, onTheNode, ofThisMachine));
  }

  private static <V> Map<String, V> with(Map<String, V> map, String key, V value) {
    var copy = new LinkedHashMap<>(map);
    copy.put(key, value);
    return copy;
  }
}
