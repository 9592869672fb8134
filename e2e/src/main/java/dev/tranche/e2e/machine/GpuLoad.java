package dev.tranche.e2e.machine;

import dev.tranche.api.Names;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A pod that takes memory of its GPU and keeps it busy: {@code e2e/machine/gpu-load.c}.
 *
 * @param fraction of a GPU that it requests
 * @param busyPercent part of the time in which its kernels run
 * @param limit of the driver's to its memory, {@code none} or empty for its share
 */
record GpuLoad(String name, String fraction, int busyPercent, long memoryMib, String limit) {
  static final String IMAGE = "tranche-e2e/gpu-load:1";
  static final String PROGRAM = "/gpu-load";

  GpuLoad(String name, String fraction, int busyPercent, long memoryMib) {
    this(name, fraction, busyPercent, memoryMib, "");
  }

  /**
   * Three that share a GPU, of which "greedy" takes more memory than its share.
   *
   * @param totalMib memory of the GPU
   */
  static List<GpuLoad> three(long totalMib) {
    return List.of(
        new GpuLoad("steady", "0.3", 30, totalMib / 5),
        new GpuLoad("greedy", "0.3", 20, totalMib / 2, "none"),
        new GpuLoad("small", "0.2", 10, totalMib / 10));
  }

  /** For which replicas are free beside those three, but too little memory. */
  static GpuLoad late(long totalMib) {
    return new GpuLoad("late", "0.2", 10, totalMib / 20);
  }

  /** Takes more than its share, and more than it may. */
  static GpuLoad beyond(long totalMib) {
    return new GpuLoad("beyond", "0.2", 1, totalMib / 2);
  }

  /** Two that share it by MPS. */
  static List<GpuLoad> byMps() {
    return List.of(new GpuLoad("half", "0.5", 30, 1), new GpuLoad("fifth", "0.2", 30, 1));
  }

  /**
   * @param uuid of the GPU that it must get, or empty
   */
  Pod pod(boolean simulated, String uuid) {
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
        .addToAnnotations(uuid.isEmpty() ? Map.of() : Map.of(Names.GPU_UUID, uuid))
        .addToAnnotations(limit.isEmpty() ? Map.of() : Map.of(Names.GPU_MEMORY_LIMIT, limit))
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
