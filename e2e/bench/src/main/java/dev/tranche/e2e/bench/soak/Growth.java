package dev.tranche.e2e.bench.soak;

import dev.tranche.e2e.install.PodProcesses;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Compares what each process holds in calm times: threads and descriptors must not grow. */
final class Growth {
  private static final long THREADS_MORE_MAX = 16;
  private static final long DESCRIPTORS_MORE_MAX = 64;

  private final Map<String, PodProcesses.Use> firstByPid = new HashMap<>();

  void sample(Tranche tranche, Violations violations) {
    for (String part : List.of("extender", "webhook", "node-plugin")) {
      for (Pod pod : tranche.parts(part)) {
        for (String pid : PodProcesses.onHost(pod, "java")) {
          PodProcesses.Use use = PodProcesses.use(pid);
          PodProcesses.Use first = firstByPid.putIfAbsent(pid, use);
          if (first != null
              && (use.threads() - first.threads() > THREADS_MORE_MAX
                  || use.descriptors() - first.descriptors() > DESCRIPTORS_MORE_MAX)) {
            violations.add(
                "process_grows",
                pod.getMetadata().getName(),
                "it had %s, and has %s".formatted(first, use));
          }
        }
      }
    }
  }
}
