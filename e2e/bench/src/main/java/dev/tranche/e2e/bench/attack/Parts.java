package dev.tranche.e2e.bench.attack;

import dev.tranche.e2e.install.PodProcesses;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.ContainerStatus;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Tranche's own pods: how often their processes ended, and their memory. */
final class Parts {
  static final List<String> ALL = List.of("webhook", "extender", "node-plugin");
  private static final int MIB_KIB = 1024;

  private final Tranche tranche;

  Parts(Tranche tranche) {
    this.tranche = tranche;
  }

  /** Restarts of each container so far. */
  Map<String, Integer> restarts() {
    var restarts = new TreeMap<String, Integer>();
    for (String part : ALL) {
      for (Pod pod : tranche.parts(part)) {
        for (ContainerStatus status : pod.getStatus().getContainerStatuses()) {
          restarts.put(
              pod.getMetadata().getName() + "/" + status.getName(), status.getRestartCount());
        }
      }
    }
    return restarts;
  }

  /** Restarts since then, and how each last one ended. */
  List<String> endedSince(Map<String, Integer> before) {
    var ended = new ArrayList<String>();
    for (String part : ALL) {
      for (Pod pod : tranche.parts(part)) {
        for (ContainerStatus status : pod.getStatus().getContainerStatuses()) {
          String name = pod.getMetadata().getName() + "/" + status.getName();
          int times = status.getRestartCount() - before.getOrDefault(name, 0);
          var state = status.getState().getTerminated();
          boolean ends = state != null && times == 0;
          if (times > 0 || ends) {
            var last = ends ? state : status.getLastState().getTerminated();
            ended.add(
                "%s %d times, last %s"
                    .formatted(
                        name,
                        Math.max(times, 1),
                        last == null ? "?" : last.getReason() + " " + last.getExitCode()));
          }
        }
      }
    }
    return ended;
  }

  boolean allReady() {
    try {
      return ALL.stream().flatMap(part -> tranche.parts(part).stream()).allMatch(Parts::ready);
    } catch (KubernetesClientException busy) {
      return false;
    }
  }

  /** Their controllers create them anew. */
  void deleteUnready() {
    ALL.stream()
        .flatMap(part -> tranche.parts(part).stream())
        .filter(pod -> !ready(pod))
        .forEach(pod -> tranche.client().resource(pod).withGracePeriod(0).delete());
  }

  private static boolean ready(Pod pod) {
    return pod.getStatus().getConditions().stream()
        .anyMatch(c -> c.getType().equals("Ready") && c.getStatus().equals("True"));
  }

  List<String> addresses(String part) {
    return tranche.parts(part).stream().map(pod -> pod.getStatus().getPodIP()).toList();
  }

  /** The largest memory that a process of each part has now, in MiB, by the kernel's figures. */
  Map<String, Long> memoryMib() {
    var memory = new HashMap<String, Long>();
    for (String part : ALL) {
      for (Pod pod : tranche.parts(part)) {
        memory.putIfAbsent(part, 0L);
        for (String pid : PodProcesses.onHost(pod, "java")) {
          memory.merge(part, PodProcesses.use(pid).memoryKib() / MIB_KIB, Math::max);
        }
      }
    }
    return memory;
  }

  /** The JVM's used heap after the last collections, or before them, of the largest process. */
  Map<String, Double> heapMib() {
    var heaps = new HashMap<String, Double>();
    for (String part : ALL) {
      for (Pod pod : tranche.parts(part)) {
        Double heap = metric(pod, "jvm_memory_used_bytes{area=\"heap\"");
        if (heap != null) {
          heaps.merge(part, heap / (1 << 20), Math::max);
        }
      }
    }
    return heaps;
  }

  /** The largest value of a metric among the pods of a part; null if none answers. */
  @Nullable Double metric(String part, String name) {
    return tranche.parts(part).stream()
        .map(pod -> metric(pod, name))
        .filter(java.util.Objects::nonNull)
        .max(Double::compare)
        .orElse(null);
  }

  private @Nullable Double metric(Pod pod, String prefix) {
    try {
      double sum = 0;
      boolean found = false;
      for (String line : tranche.metrics(pod).lines().toList()) {
        if (line.startsWith(prefix)) {
          found = true;
          sum += Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1));
        }
      }
      return found ? sum : null;
    } catch (RuntimeException silent) {
      return null;
    }
  }
}
