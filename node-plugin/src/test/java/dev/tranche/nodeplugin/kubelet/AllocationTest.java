package dev.tranche.nodeplugin.kubelet;

import static dev.tranche.nodeplugin.kubelet.AllocationCallsRig.share;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.DeviceSpec;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class AllocationTest {
  private static final GpuSharing TEN = shared("nvidia.com/gpu", false);

  private static GpuSharing shared(String resource, boolean strict) {
    return new GpuSharing(resource, 10, SharingStrategy.TIME_SLICING, strict);
  }

  private static List<GpuInfo> gpus(int count, String prefix) {
    return IntStream.range(0, count)
        .mapToObj(i -> new GpuInfo(i, prefix + i, "Tesla T4", i + 4, 0, 0, 1, 0, Mig.OFF))
        .toList();
  }

  /** Of GPUs named by a prefix and their index; more than one replica needs an assignment. */
  static Allocation strict(int gpus, String prefix) {
    return allocation(SharedGpus.replicas(shared("nvidia.com/gpu", true), gpus(gpus, prefix)));
  }

  private static Replicas replicas(GpuSharing sharing, String... flags) {
    return SharedGpus.replicas(sharing, gpus(2, "GPU-"), flags);
  }

  static Allocation allocation(Replicas replicas) {
    return new Allocation(replicas, HostNodes.NONE, new HeldReplicas(), NodeLimits.NONE);
  }

  private static Allocation.Verdict decide(
      GpuSharing sharing, List<String> ids, GpuShare... assigned) {
    return allocation(replicas(sharing))
        .decide(ids, expected(List.of(assigned), 0, assigned.length > 0));
  }

  static AllocationCalls.Expected expected(
      List<GpuShare> shares, int replicasPerGpu, boolean mayBeAssigned) {
    return new AllocationCalls.Expected(
        shares, replicasPerGpu, mayBeAssigned, "", OptionalLong.empty());
  }

  private static String refusal(Allocation.Verdict verdict) {
    return switch (verdict) {
      case Allocation.Verdict.Refused refused -> refused.message();
      case Allocation.Verdict.Granted granted -> "granted " + granted.response();
    };
  }

  private static Map<String, String> envs(Allocation.Verdict verdict) {
    return switch (verdict) {
      case Allocation.Verdict.Refused refused -> Map.of("refused", refused.message());
      case Allocation.Verdict.Granted granted -> granted.response().getEnvsMap();
    };
  }

  @Test
  void replicasOfTwoGpus_nameEachOnceInTheKubeletsOrder() {
    assertThat(envs(decide(TEN, List.of("GPU-1::0", "GPU-0::3", "GPU-1::7"))))
        .containsEntry("NVIDIA_VISIBLE_DEVICES", "GPU-1,GPU-0");
  }

  private static String plain(String counts, int first, int second, boolean mayBeAssigned) {
    List<String> ids =
        Stream.concat(
                IntStream.range(0, first).mapToObj(i -> "GPU-0::" + i),
                IntStream.range(0, second).mapToObj(i -> "GPU-1::" + i))
            .toList();
    return refusal(
        allocation(replicas(TEN, "--plain-requests=" + counts))
            .decide(ids, expected(List.of(), 0, mayBeAssigned)));
  }

  /** Another scheduler counts replicas alone: nine and one are ten to it. */
  @Test
  void replicasOfWholeGpus_onMoreGpus_areRefused_whereNumbersCountGpus() {
    assertThat(plain("gpus", 9, 1, false))
        .contains("whole GPUs", "9 of GPU-0 and 1 of GPU-1", "schedulerName");
    assertThat(plain("gpus", 10, 0, false)).startsWith("granted");
    assertThat(plain("gpus", 10, 10, false)).startsWith("granted");
    assertThat(plain("gpus", 2, 1, false)).startsWith("granted");
    assertThat(plain("gpus", 9, 1, true)).startsWith("granted");
    assertThat(plain("replicas", 9, 1, false)).startsWith("granted");
  }

  @Test
  void deviceSpecs_liveUnderTheDevRoot() {
    var allocation =
        new Allocation(
            replicas(TEN, "--pass-device-specs", "--dev-root=/run/nvidia"),
            new HostNodes(List.of("/dev/nvidiactl"), false, Map.of(), true),
            new HeldReplicas(),
            NodeLimits.NONE);
    var verdict = allocation.decide(List.of("GPU-1::0"), expected(List.of(), 0, false));
    assertThat(verdict)
        .isInstanceOfSatisfying(
            Allocation.Verdict.Granted.class,
            granted ->
                assertThat(granted.response().getDevicesList())
                    .extracting(DeviceSpec::getHostPath)
                    .containsExactly("/run/nvidia/dev/nvidiactl", "/run/nvidia/dev/nvidia5"));
  }

  @Test
  void unknownIds_areRefusedInNvidiasWords() {
    for (String id : List.of("GPU-9::0", "GPU-0::10", "GPU-0", "GPU-0::x")) {
      assertThat(refusal(decide(TEN, List.of(id))))
          .isEqualTo(
              "invalid allocation request for \"nvidia.com/gpu\": invalid request: unknown device: "
                  + id);
    }
  }

  @Test
  void unknownIds_areRefusedBeforeTooMany() {
    GpuSharing strict = shared("nvidia.com/gpu", true);
    assertThat(refusal(decide(strict, List.of("GPU-0::0", "GPU-9::0"))))
        .endsWith("unknown device: GPU-9::0");
  }

  @Test
  void moreThanOne_isRefusedWhereConfiguredSo() {
    GpuSharing strict = shared("nvidia.com/gpu.shared", true);
    assertThat(refusal(decide(strict, List.of("GPU-0::0", "GPU-0::1"))))
        .isEqualTo(
            "invalid allocation request for \"nvidia.com/gpu.shared\": invalid request: maximum"
                + " request size for shared resources is 1; found 2");
  }

  @Test
  void moreThanOne_isGrantedToAnAssignedShare() {
    GpuSharing strict = shared("nvidia.com/gpu.shared", true);
    assertThat(envs(decide(strict, List.of("GPU-1::0", "GPU-1::1"), share("GPU-1", 2))))
        .containsEntry("NVIDIA_VISIBLE_DEVICES", "GPU-1");
  }

  @Test
  void moreThanOne_ofWholeGpus_isNoSharing() {
    assertThat(envs(decide(GpuSharing.unshared("nvidia.com/gpu"), List.of("GPU-0", "GPU-1"))))
        .containsEntry("NVIDIA_VISIBLE_DEVICES", "GPU-0,GPU-1");
  }

  @Test
  void splitShare_isRefused() {
    var verdict = decide(TEN, List.of("GPU-0::0", "GPU-1::0"), share("GPU-1", 2));
    assertThat(refusal(verdict)).contains("1 of GPU-0 and 1 of GPU-1");
  }

  @Test
  void wholeShareOnAnotherGpu_isTheKubeletsRight() {
    assertThat(envs(decide(TEN, List.of("GPU-0::0", "GPU-0::1"), share("GPU-1", 2))))
        .containsEntry("NVIDIA_VISIBLE_DEVICES", "GPU-0");
  }

  @Test
  void shareOfOtherReplicas_isRefused_sinceItWouldBeAnotherPartOfTheGpu() {
    Allocation allocation = allocation(replicas(TEN));
    List<String> ids = List.of("GPU-1::0", "GPU-1::1", "GPU-1::2");
    List<GpuShare> assigned = List.of(share("GPU-1", 3));
    assertThat(refusal(allocation.decide(ids, expected(assigned, 4, true))))
        .contains("the share is 3 of 4 replicas per GPU, and GPU-1 has 10 by now");
    assertThat(envs(allocation.decide(ids, expected(assigned, 10, true))))
        .containsEntry("NVIDIA_VISIBLE_DEVICES", "GPU-1");
  }

  /** The kubelet has ids left, since it gave four of them to two pods. */
  @Test
  void replicasBesideThoseOfTwoPods_areRefusedBeyondTheGpu() {
    var held = new HeldReplicas();
    List<String> four = List.of("GPU-0::0", "GPU-0::1", "GPU-0::2", "GPU-0::3");
    held.update(List.of(holding("p", four), holding("q", four)), true, Map.of("GPU-0", TEN), 0);
    var allocation = new Allocation(replicas(TEN), HostNodes.NONE, held, NodeLimits.NONE);
    List<String> three = List.of("GPU-0::4", "GPU-0::5", "GPU-0::6");
    assertThat(refusal(allocation.decide(three, expected(List.of(), 0, false))))
        .contains("3 of 10 replicas of GPU-0 do not fit", "gave a replica to two pods");
    assertThat(envs(allocation.decide(three.subList(0, 2), expected(List.of(), 0, false))))
        .containsEntry("NVIDIA_VISIBLE_DEVICES", "GPU-0");
    assertThat(envs(allocation.decide(three, expected(List.of(share("GPU-0", 3)), 10, true))))
        .containsEntry("NVIDIA_VISIBLE_DEVICES", "GPU-0");
  }

  private static Holding holding(String pod, List<String> ids) {
    return Holding.newBuilder()
        .setResource("nvidia.com/gpu")
        .setPod(pod)
        .addAllDeviceIds(ids)
        .build();
  }
}
