package dev.tranche.nodeplugin.kubelet;

import static java.util.stream.Collectors.joining;

import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.api.kubelet.Mount;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.mps.MpsRoot;
import java.nio.file.Path;
import java.util.List;

/**
 * Makes a container a client of the control daemon, limited in proportion to its share. The limits
 * apply to each process of the container, not to all of them together.
 */
final class MpsClient {
  private static final String SHM = "/dev/shm";

  private MpsClient() {}

  /** Adds environment and mounts to a container's answer, if any of its GPUs is shared by MPS. */
  static void add(
      ContainerAllocateResponse.Builder response, Replicas replicas, List<GrantedShare> granted) {
    List<GrantedShare> shares =
        granted.stream().filter(share -> share.how().strategy() == SharingStrategy.MPS).toList();
    if (shares.isEmpty()) {
      return;
    }
    MpsRoot host = new MpsRoot(Path.of(replicas.config().mpsRoot()));
    Path pipe = MpsRoot.IN_CONTAINER.pipe(replicas.resource());
    // CUDA has only one percentage for all GPUs of a client, and none may exceed its share.
    long percentage = shares.stream().mapToLong(share -> share.part().of(100)).min().orElseThrow();
    response
        .putEnvs("CUDA_MPS_PIPE_DIRECTORY", pipe.toString())
        .putEnvs("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", Long.toString(Math.max(1, percentage)))
        .addMounts(mount(pipe.toString(), host.pipe(replicas.resource())))
        .addMounts(mount(SHM, host.shm()));
    // By uuid, since a container has its own indexes. Memory that is not known cannot be limited.
    String limits =
        shares.stream()
            .filter(share -> share.gpu().memoryTotalBytes() > 0)
            .map(MpsClient::memoryLimit)
            .collect(joining(","));
    if (!limits.isEmpty()) {
      response.putEnvs("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", limits);
    }
  }

  // Of the whole memory, as NVIDIA's plugin divides it.
  private static String memoryLimit(GrantedShare share) {
    return "%s=%dM"
        .formatted(share.gpu().uuid(), share.part().of(share.gpu().memoryTotalBytes()) >> 20);
  }

  private static Mount mount(String container, Path host) {
    return Mount.newBuilder().setContainerPath(container).setHostPath(host.toString()).build();
  }
}
