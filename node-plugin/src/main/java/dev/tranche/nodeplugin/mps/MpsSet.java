package dev.tranche.nodeplugin.mps;

import static java.util.stream.Collectors.joining;

import dev.tranche.api.GpuPart;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The GPUs that one control daemon serves: those of one resource.
 *
 * @param resource the extended resource of their replicas
 * @param gpus at least one, in NVML's order
 * @param oneReplicaEach whether no client ever has more than one replica
 * @param allGpus whether there is no other GPU on the node
 */
record MpsSet(String resource, List<MpsGpu> gpus, boolean oneReplicaEach, boolean allGpus) {
  MpsSet plus(MpsSet other) {
    return new MpsSet(
        resource,
        Stream.concat(gpus.stream(), other.gpus.stream()).toList(),
        oneReplicaEach,
        allGpus);
  }

  /** Returns whether the daemon of this set has all GPUs of the other, with the same limits. */
  boolean covers(MpsSet other) {
    return resource.equals(other.resource)
        && gpus.containsAll(other.gpus)
        && oneReplicaEach == other.oneReplicaEach
        // With allGpus it would also use a GPU that is no longer in its set.
        && (other.allGpus || !allGpus);
  }

  /**
   * Returns the commands that set the daemon's defaults, which a client can only lower. If no
   * client can have more than one replica, they are one replica's, as NVIDIA's plugin sets them.
   * Otherwise they allow the whole GPU, and each container has its own share in its environment.
   */
  List<String> commands() {
    List<String> commands = new ArrayList<>();
    // Memory that is not known cannot be limited: a limit of 0 would let no client start.
    gpus.stream()
        .filter(gpu -> gpu.memoryBytes() > 0)
        .map(
            gpu ->
                "set_default_device_pinned_mem_limit %s %dM"
                    .formatted(gpu.uuid(), largest(gpu).of(gpu.memoryBytes()) >> 20))
        .forEach(commands::add);
    commands.add("set_default_active_thread_percentage " + threadPercentage());
    return commands;
  }

  /** Returns the one percentage for all GPUs of a daemon: the largest that a client may need. */
  int threadPercentage() {
    return gpus.stream()
        .mapToInt(gpu -> (int) Math.max(1, largest(gpu).of(100)))
        .max()
        .orElseThrow();
  }

  /** Returns the largest share of a client. */
  private GpuPart largest(MpsGpu gpu) {
    return GpuPart.of(oneReplicaEach ? 1 : gpu.replicas(), gpu.replicas());
  }

  /**
   * Returns CUDA_VISIBLE_DEVICES of the daemon; empty for all GPUs, which avoids renumbering. It
   * has uuids, since the indexes that clients see are different.
   */
  String visibleDevices() {
    return allGpus ? "" : gpus.stream().map(MpsGpu::uuid).collect(joining(","));
  }
}
