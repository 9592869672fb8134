package dev.tranche.nodeplugin.mps;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The GPUs that one control daemon serves: those of one resource.
 *
 * @param resource the extended resource of their replicas
 * @param gpus at least one, in NVML's order
 * @param oneReplicaEach no client ever has more than one replica
 * @param all there is no other GPU on the node
 */
record MpsSet(String resource, List<MpsGpu> gpus, boolean oneReplicaEach, boolean all) {
  MpsSet {
    gpus = List.copyOf(gpus);
  }

  /**
   * What the daemon is told at first. Its defaults are a ceiling: a client can only lower them. So
   * they are one replica's where nobody can have more, as NVIDIA's plugin sets them, and otherwise
   * the whole GPU, with each container's own share in its environment.
   */
  List<String> commands() {
    List<String> commands = new ArrayList<>();
    gpus.stream()
        .filter(MpsGpu::memoryKnown)
        .map(
            gpu ->
                "set_default_device_pinned_mem_limit "
                    + gpu.uuid()
                    + " "
                    + gpu.memoryLimit(most(gpu)))
        .forEach(commands::add);
    commands.add("set_default_active_thread_percentage " + threadPercentage());
    return commands;
  }

  /** One figure for all GPUs of a daemon: the largest one that a client may need. */
  int threadPercentage() {
    return gpus.stream().mapToInt(gpu -> gpu.threadPercentage(most(gpu))).max().orElseThrow();
  }

  private int most(MpsGpu gpu) {
    return oneReplicaEach ? 1 : gpu.replicas();
  }

  /**
   * CUDA_VISIBLE_DEVICES of the daemon; empty: all GPUs, which spares the renumbering. By uuid,
   * since the indexes that clients see are others.
   */
  String visibleDevices() {
    return all ? "" : gpus.stream().map(MpsGpu::uuid).collect(Collectors.joining(","));
  }
}
