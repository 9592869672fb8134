package dev.tranche.nodeplugin.mps;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.api.kubelet.Mount;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.Replicas;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Makes a container a client of the control daemon, limited in proportion to its share. The limits
 * apply to each process of the container, not to all of them together.
 */
public final class MpsClient {
  private static final String SHM = "/dev/shm";

  private final Replicas replicas;

  public MpsClient(Replicas replicas) {
    this.replicas = replicas;
  }

  /** Adds environment and mounts to a container's answer, if any of its GPUs is shared by MPS. */
  public void addTo(ContainerAllocateResponse.Builder response, Collection<String> ids) {
    Map<MpsGpu, Integer> shares = shares(ids);
    if (shares.isEmpty()) {
      return;
    }
    MpsRoot host = new MpsRoot(Path.of(replicas.config().mpsRoot()));
    Path pipe = MpsRoot.IN_CONTAINER.pipe(replicas.resource());
    response
        .putEnvs("CUDA_MPS_PIPE_DIRECTORY", pipe.toString())
        .putEnvs("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", Integer.toString(threadPercentage(shares)))
        .addMounts(mount(pipe.toString(), host.pipe(replicas.resource())))
        .addMounts(mount(SHM, host.shm()));
    String limits = memoryLimits(shares);
    if (!limits.isEmpty()) {
      response.putEnvs("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", limits);
    }
  }

  private Map<MpsGpu, Integer> shares(Collection<String> ids) {
    Map<String, Integer> byUuid =
        ids.stream().collect(Collectors.toMap(ReplicaId::uuidOf, id -> 1, Integer::sum));
    Map<MpsGpu, Integer> shares = new LinkedHashMap<>();
    for (GpuStatus gpu : replicas.gpus()) {
      GpuSharing how = replicas.sharing().get(gpu.info().uuid());
      Integer share = byUuid.get(gpu.info().uuid());
      if (share != null && how != null && how.strategy() == SharingStrategy.MPS) {
        shares.put(
            new MpsGpu(gpu.info().uuid(), gpu.info().memoryTotalBytes(), how.replicas()), share);
      }
    }
    return shares;
  }

  /**
   * Returns the smallest percentage: CUDA has only one for all GPUs of a client, and none may
   * exceed its share.
   */
  private static int threadPercentage(Map<MpsGpu, Integer> shares) {
    return shares.entrySet().stream()
        .mapToInt(e -> e.getKey().threadPercentage(e.getValue()))
        .min()
        .orElseThrow();
  }

  /**
   * Returns limits by uuid, since a container has its own indexes. Omits GPUs of unknown memory.
   */
  private static String memoryLimits(Map<MpsGpu, Integer> shares) {
    List<String> limits = new ArrayList<>();
    shares.forEach(
        (gpu, share) -> {
          if (gpu.memoryKnown()) {
            limits.add(gpu.uuid() + "=" + gpu.memoryLimit(share));
          }
        });
    return String.join(",", limits);
  }

  private static Mount mount(String container, Path host) {
    return Mount.newBuilder().setContainerPath(container).setHostPath(host.toString()).build();
  }
}
