package dev.tranche.e2e.machine;

import dev.tranche.api.Names;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.util.ArrayList;
import java.util.List;

/**
 * A pod that takes memory of its GPU and keeps it busy: {@code e2e/machine/gpu-load.c}.
 *
 * @param fraction of a GPU that it requests
 * @param busyPercent part of the time in which its kernels run
 */
record GpuLoad(String name, String fraction, int busyPercent, long memoryMib) {
  static final String IMAGE = "tranche-e2e/gpu-load:1";
  static final String PROGRAM = "/gpu-load";

  /**
   * Three that share a GPU, of which "greedy" takes more memory than its share.
   *
   * @param totalMib memory of the GPU
   */
  static List<GpuLoad> three(long totalMib) {
    return List.of(
        new GpuLoad("steady", "0.3", 30, totalMib / 5),
        new GpuLoad("greedy", "0.3", 20, totalMib / 2),
        new GpuLoad("small", "0.2", 10, totalMib / 10));
  }

  /** For which replicas are free beside those three, but too little memory. */
  static GpuLoad late(long totalMib) {
    return new GpuLoad("late", "0.2", 10, totalMib / 20);
  }

  Pod pod(boolean simulated) {
    var command =
        new ArrayList<>(
            List.of(
                PROGRAM, "--busy", Integer.toString(busyPercent), "--memory", memoryMib + "Mi"));
    if (simulated) {
      command.add("--simulated");
    }
    return new PodBuilder()
        .withNewMetadata()
        .withName(name)
        .addToAnnotations(Names.GPU_FRACTION, fraction)
        .endMetadata()
        .withNewSpec()
        .withTerminationGracePeriodSeconds(1L)
        .addNewContainer()
        .withName("main")
        .withImage(IMAGE)
        .withImagePullPolicy("IfNotPresent")
        .withCommand(command)
        .endContainer()
        .endSpec()
        .build();
  }
}
