package dev.tranche.e2e.install;

import dev.tranche.e2e.cluster.Cluster;
import io.fabric8.kubernetes.api.model.Pod;

/** Finds the processes of pods, which the simulated NVML then lists. */
public final class PodProcesses {
  private PodProcesses() {}

  /** Returns the id of a process of the pod's first container, as its node numbers it. */
  public static int of(Cluster cluster, Pod pod) {
    String id = pod.getStatus().getContainerStatuses().getFirst().getContainerID();
    String ofContainer = id.substring(id.lastIndexOf('/') + 1);
    // Processes end while grep reads them, so its status says nothing.
    var files =
        cluster.exec(
            pod.getSpec().getNodeName(),
            "sh",
            "-c",
            "grep -l " + ofContainer + " /proc/[0-9]*/cgroup");
    String file =
        files
            .out()
            .lines()
            .findFirst()
            .orElseThrow(
                () ->
                    new AssertionError(
                        "no process of pod " + pod.getMetadata().getName() + ": " + id));
    return Integer.parseInt(file.split("/")[2]);
  }
}
