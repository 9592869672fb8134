package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MpsClientTest {
  private static final String LIMIT = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT";
  private static final String THREADS = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE";

  private static GpuInfo gpu(int index, long memoryMib) {
    return new GpuInfo(
        index, "GPU-" + index, "Tesla T4", index, memoryMib << 20, 0, -1, 7, Mig.OFF);
  }

  private static ContainerAllocateResponse answer(SharingStrategy strategy, String... ids) {
    return answer(15360, strategy, ids);
  }

  /**
   * @param memoryMib of GPU 0
   */
  private static ContainerAllocateResponse answer(
      long memoryMib, SharingStrategy strategy, String... ids) {
    var ten = new GpuSharing("nvidia.com/gpu", 10, strategy, false);
    var gpus = List.of(gpu(0, memoryMib), gpu(1, 15360));
    var replicas = SharedGpus.replicas(ten, gpus, "--mps-root=/srv/mps");
    var response = ContainerAllocateResponse.newBuilder();
    MpsClient.add(response, replicas, GrantedShare.of(replicas, List.of(ids)));
    return response.build();
  }

  @Test
  void oneReplica_getsTheDaemonsFoldersAndATenth() {
    var answer = answer(SharingStrategy.MPS, "GPU-1::7");
    assertThat(answer.getEnvsMap())
        .containsOnly(
            Map.entry("CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu/pipe"),
            Map.entry(THREADS, "10"),
            Map.entry(LIMIT, "GPU-1=1536M"));
    assertThat(answer.getMountsList())
        .extracting(m -> m.getHostPath() + " at " + m.getContainerPath())
        .containsExactly(
            "/srv/mps/nvidia.com/gpu/pipe at /mps/nvidia.com/gpu/pipe", "/srv/mps/shm at /dev/shm");
  }

  @Test
  void threeReplicas_getThreeTenths() {
    assertThat(answer(SharingStrategy.MPS, "GPU-0::1", "GPU-0::5", "GPU-0::2").getEnvsMap())
        .containsEntry(THREADS, "30")
        .containsEntry(LIMIT, "GPU-0=4608M");
  }

  @Test
  void unequalSharesOfTwoGpus_haveTheirOwnMemoryAndTheLesserThreads() {
    assertThat(answer(SharingStrategy.MPS, "GPU-1::0", "GPU-0::1", "GPU-0::2").getEnvsMap())
        .containsEntry(THREADS, "10")
        .containsEntry(LIMIT, "GPU-0=3072M,GPU-1=1536M");
  }

  @Test
  void gpuOfUnknownMemory_hasNoLimitOfIt() {
    assertThat(answer(0, SharingStrategy.MPS, "GPU-0::1").getEnvsMap())
        .containsEntry(THREADS, "10")
        .doesNotContainKey(LIMIT);
    assertThat(answer(0, SharingStrategy.MPS, "GPU-0::1", "GPU-1::1").getEnvsMap())
        .containsEntry(LIMIT, "GPU-1=1536M");
  }

  @Test
  void timeSlicedGpu_getsNothing() {
    assertThat(answer(SharingStrategy.TIME_SLICING, "GPU-0::1"))
        .isEqualTo(ContainerAllocateResponse.getDefaultInstance());
  }
}
