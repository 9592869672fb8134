package dev.tranche.nodeplugin;

import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.DevicePluginGrpcService;
import dev.tranche.api.kubelet.DevicePluginOptions;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.Health;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.server.GrpcServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What goes wrong on a node, and how it ends. */
class NodeHealthIT extends WithPlugin {
  @AutoClose private final Vertx elsewhere = Vertx.vertx();

  @Test
  void kubeletFolder_thatIsRemovedAndMadeAgain_isServedAgain() throws Exception {
    rig.advertised();
    kubelet.stop();
    Path dp = kubelet.kubeletSocket().getParent();
    try (Stream<Path> files = Files.list(dp)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(dp);
    until("it is seen that the kubelet is gone", () -> !first.last().getRegistered());
    Files.createDirectory(dp);
    kubelet.start();
    rig.advertised();
    assertThat(kubelet.admit("after", Map.of("main", 1))).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({
    "nvidia-gpu.sock,helm uninstall -n nvidia-device-plugin nvdp",
    "nvidia-gpu.sock,kubectl -n kube-system delete daemonset nvidia-device-plugin-daemonset",
    "nvidia-gpu.sock,on Bottlerocket set settings.kubelet-device-plugins.nvidia.enabled to false",
    "tranche-gpu-0123abcd.sock,another process of Tranche's node plugin"
  })
  void anotherPluginOfTheResource_isWaitedFor_andTakenOverFrom(String name, String told)
      throws Exception {
    rig.ready();
    rig.stopPlugin();
    Path socket = folder.resolve("dp").resolve(name);
    HttpServer other = otherPlugin(socket);
    int before = kubelet.registrations();
    rig.startPlugin();
    until("it is told", () -> reasons().contains("ResourceOccupied"));
    assertThat(socket).exists();
    assertThat(kubelet.registrations()).isEqualTo(before);
    assertThat(first.last().getEvents(0).getMessage())
        .contains(socket.toString(), told)
        .endsWith("as soon as it is gone");
    assertThat(rig.plugin.readiness().passed()).isFalse();
    other.close().await();
    rig.advertised();
    assertThat(kubelet.registrations()).isEqualTo(before + 1);
  }

  @Test
  void nvidiasPluginThatStartsBesideUs_isLeftThere_andTakenOverFrom() throws Exception {
    rig.ready();
    Path ours = folder.resolve("dp").resolve(kubelet.endpoint("nvidia.com/gpu"));
    HttpServer other = otherPlugin(folder.resolve("dp/nvidia-gpu.sock"));
    until("it is told", () -> reasons().contains("ResourceOccupied"));
    until("the extender hears of it", () -> !first.last().getRegistered());
    assertThat(folder.resolve("dp/nvidia-gpu.sock")).exists();
    assertThat(kubelet.registrations()).isEqualTo(1);
    other.close().await();
    until("it registers again", () -> kubelet.registrations() == 2);
    rig.ready();
    assertThat(ours).doesNotExist();
  }

  private HttpServer otherPlugin(Path socket) throws Exception {
    GrpcServer grpc = GrpcServer.server(elsewhere);
    grpc.callHandler(
        DevicePluginGrpcService.GetDevicePluginOptions,
        request ->
            request.handler(e -> request.response().end(DevicePluginOptions.getDefaultInstance())));
    return elsewhere
        .createHttpServer()
        .requestHandler(grpc)
        .listen(SocketAddress.domainSocketAddress(socket.toString()))
        .await();
  }

  @Test
  void leftoverSockets_areNoObstacle_andOnlyOursAreDeleted() throws Exception {
    rig.stopPlugin();
    Path dp = folder.resolve("dp");
    Path ours = leftover(dp.resolve("tranche-gpu-0123abcd.sock"));
    List<Path> others =
        List.of(
            leftover(dp.resolve("nvidia-gpu.sock")),
            leftover(dp.resolve("tranche-gpu.shared-0123abcd.sock")),
            leftover(dp.resolve("tranche-gpu-mine.sock")));
    rig.startPlugin();
    rig.advertised();
    assertThat(ours).doesNotExist();
    assertThat(others).allSatisfy(other -> assertThat(other).exists());
  }

  private static Path leftover(Path socket) throws IOException {
    try (var dead = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      dead.bind(UnixDomainSocketAddress.of(socket));
    }
    assertThat(socket).exists();
    return socket;
  }

  @Test
  void deletedSocket_isReplacedByAnotherOne() throws Exception {
    rig.advertised();
    String before = kubelet.endpoint("nvidia.com/gpu");
    Files.delete(folder.resolve("dp").resolve(before));
    until("it registers again", () -> kubelet.registrations() == 2);
    rig.ready();
    assertThat(kubelet.endpoint("nvidia.com/gpu")).isNotEqualTo(before);
  }

  @Test
  void stop_saysSoFirst_andServesThePodsThatWereBoundBefore() throws Exception {
    rig.ready();
    rig.assign("late", "GPU-1", 3);
    var stopped = new CompletableFuture<Void>();
    rig.loop.runOnContext(v -> rig.plugin.stop().onComplete(done -> stopped.complete(null)));
    until("both hear of it", () -> first.last().getDraining() && rig.second.last().getDraining());
    assertThat(stopped).isNotDone();
    kubelet.admit("late", Map.of("main", 3));
    assertThat(kubelet.held("late", "main")).allMatch(id -> id.startsWith("GPU-1::"));
    stopped.get(30, TimeUnit.SECONDS);
    assertThat(folder.resolve("dp").resolve(kubelet.endpoint("nvidia.com/gpu"))).doesNotExist();
  }

  @Test
  void fault_isAnEvent_andEndsByItself_unlessAResetIsNeeded() throws Exception {
    rig.ready();
    nvml.state(
        gpu(0, "sm=10"), gpu(1, "sm=20"), "xid gpu=0 code=94 seq=1", "xid gpu=1 code=48 seq=2");
    until("both are told", () -> reasons().contains("GpuHealthy"));
    assertThat(reasons()).contains("GpuUnhealthy", "GpuHealthy");
    until("one is back", () -> kubelet.healthy() == 10);
    assertThat(first.last().getGpus(1).getHealthReason()).contains("XID 48");
    assertThat(first.last().getGpus(1).getHealth()).isEqualTo(Health.HEALTH_UNHEALTHY);
    assertThat(scrape()).contains("tranche_node_gpu_health_changes_total{to=\"faulty\"} 2.0");
    nvml.state(gpu(0, ""), gpu(1, "lost=1"));
    until("it is lost", () -> reasons().contains("GpuLost"));
    until("no load is told for it", () -> !first.last().getGpus(1).hasLoad());
    nvml.state(gpu(0, ""), gpu(1, ""));
    rig.advertised();
    until("its return is told", () -> reasons().contains("GpuReturned"));
  }

  @Test
  void waitForErrorsThatFails_isToldWhileItLasts_andTheGpusStay() throws Exception {
    rig.ready();
    nvml.state(gpu(0, ""), gpu(1, ""), "answer function=nvmlEventSetWait_v2 code=999");
    until("it is told", () -> reasons().contains("GpuErrorsUnwatched"));
    assertThat(scrape())
        .contains("tranche_node_gpus_unwatched 2.0")
        .contains("tranche_node_problems{reason=\"GpuErrorsUnwatched\"} 2.0");
    assertThat(kubelet.healthy()).isEqualTo(20);
    nvml.state(gpu(0, ""), gpu(1, ""));
    until("all are watched", () -> scrape().contains("tranche_node_gpus_unwatched 0.0"));
    nvml.state(gpu(0, ""), gpu(1, ""), "xid gpu=1 code=48 seq=1");
    until("an error is seen again", () -> reasons().contains("GpuUnhealthy"));
  }

  @Test
  void lostGpu_blindsNobody() throws Exception {
    rig.ready();
    nvml.state(gpu(0, ""), gpu(1, "lost=1"), "xid gpu=1 code=79 seq=1");
    until("one is lost", () -> kubelet.healthy() == 10);
    var polls = new AtomicInteger();
    until(
        "the other's error is seen",
        () -> {
          // Repeated, since an error between two subscriptions is not delivered.
          int poll = polls.getAndIncrement();
          if (poll % 400 == 0) {
            otherError(2 + poll / 400);
          }
          return kubelet.healthy() == 0;
        });
    until(
        "the other's error is told",
        () -> first.last().getGpus(0).getHealthReason().contains("XID 48"));
    assertThat(scrape()).contains("tranche_node_gpus_unwatched 0.0");
  }

  private void otherError(int seq) {
    try {
      nvml.state(gpu(0, ""), gpu(1, "lost=1"), "xid gpu=0 code=48 seq=" + seq);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void gpuThatIsDeadAtTheStart_isCounted_andTold() throws Exception {
    rig.advertised();
    rig.stopPlugin();
    nvml.state(gpu(0, ""), gpu(1, "lost=1"));
    rig.startPlugin();
    until("it is told", () -> reasons().contains("GpuNotIdentified"));
    assertThat(scrape()).contains("tranche_node_problems{reason=\"GpuNotIdentified\"} 1.0");
    nvml.state(gpu(0, ""), gpu(1, ""));
    rig.advertised();
    until(
        "it is over",
        () -> scrape().contains("tranche_node_problems{reason=\"GpuNotIdentified\"} 0.0"));
  }

  @Test
  void migGpuWithoutPrivileges_isTold_withTheCure() throws Exception {
    rig.advertised();
    rig.stopPlugin();
    nvml.state(
        "driver privileges=none",
        gpu(0, ""),
        "gpu index=1 uuid=GPU-1 model=A100 memory_mib=40960 mig=1");
    rig.startPlugin();
    until("it is told", () -> reasons().contains("GpuNotIdentified"));
    assertThat(first.last().getEventsList())
        .anySatisfy(e -> assertThat(e.getMessage()).contains("NVML code 4", "SYS_ADMIN"));
  }

  @Test
  void driver_thatIsReloadedWithFewerGpus_keepsTheOthersReplicas() throws Exception {
    rig.ready();
    nvml.state("gpu index=0 uuid=GPU-1 model=\"Tesla T4\" memory_mib=15360 reserved_mib=450 sm=77");
    until("half of the replicas are unhealthy", () -> kubelet.healthy() == 10);
    until(
        "the other one is read at its new index",
        () ->
            first.last().getGpusList().stream()
                .anyMatch(
                    g ->
                        g.getUuid().equals("GPU-1")
                            && g.getLoad().getSmUtilizationPercent() == 77
                            && g.getHealth() == Health.HEALTH_HEALTHY));
    nvml.state(gpu(0, "sm=10"), gpu(1, "sm=20"));
    rig.advertised();
  }

  /** The extender hears of it all the same. */
  @Test
  void metrics_nameNoPod_ifSo() throws Exception {
    rig.restartPlugin("--pod-metrics=false");
    rig.ready();
    kubelet.admit("secret", Map.of("main", 2));
    until("it is read back", () -> first.last().getHoldingsCount() == 1);
    String uuid = kubelet.held("secret", "main").getFirst().split("::")[0];
    pod("secret", 71, "0a1b2c3d-1111-2222-3333-444455556666");
    nvml.state(gpu(0, "used_mib=900 sm=50"), gpu(1, ""), "process gpu=0 pid=71 used_mib=800 sm=40");
    until("the use is reported", () -> gpuOf(uuid).getPodUsesCount() == 1);
    assertThat(scrape()).contains("tranche_gpu_memory_used_bytes").doesNotContain("secret");
  }

  @Test
  void overuse_isToldToThePodAndItsNeighbours_andCordonsTheGpu() throws Exception {
    rig.ready();
    kubelet.admit("greedy", Map.of("main", 2));
    kubelet.admit("meek", Map.of("main", 2));
    until("both are read back", () -> first.last().getHoldingsCount() == 2);
    String uuid = kubelet.held("greedy", "main").getFirst().split("::")[0];
    pod("greedy", 71, "0a1b2c3d-1111-2222-3333-444455556666");
    nvml.state(
        gpu(0, "used_mib=9000 sm=50"), gpu(1, ""), "process gpu=0 pid=71 used_mib=8000 sm=40");
    until("the GPU is cordoned", () -> !cordon(uuid).isEmpty());
    assertThat(cordon(uuid)).contains("default/greedy");
    until("its neighbour is told", () -> reasons().contains("GpuNeighbourOveruse"));
    assertThat(reasons()).contains("GpuOveruse");
    var use = gpuOf(uuid).getPodUses(0);
    assertThat(use.getPod()).isEqualTo("greedy");
    assertThat(use.getMemoryUsedBytes()).isEqualTo(8000L << 20);
    assertThat(scrape())
        .contains(
            "tranche_container_gpu_memory_used_bytes{Hostname=\"node-1\",UUID=\"GPU-0\",container=\"main\",gpu=\"0\",modelName=\"Tesla"
                + " T4\",namespace=\"default\",pod=\"greedy\"}")
        .contains("tranche_node_overuse_total 1.0");
    nvml.state(
        gpu(0, "used_mib=9000 sm=50"), gpu(1, ""), "process gpu=0 pid=71 used_mib=800 sm=40");
    until("it is not any more", () -> cordon(uuid).isEmpty());
    until("that is told", () -> reasons().contains("GpuOveruseEnded"));
  }

  private Gpu gpuOf(String uuid) {
    return first.last().getGpusList().stream()
        .filter(g -> g.getUuid().equals(uuid))
        .findFirst()
        .orElse(Gpu.getDefaultInstance());
  }

  private String cordon(String uuid) {
    return gpuOf(uuid).getCordonReason();
  }

  /** What the kubelet and the kernel would show of a pod with one process. */
  private void pod(String name, int pid, String uid) throws IOException {
    String id = "ab12".repeat(16);
    Files.createDirectories(folder.resolve("log/pods/default_" + name + "_" + uid));
    Files.createDirectories(folder.resolve("log/containers"));
    Files.writeString(
        folder.resolve("log/containers/" + name + "_default_main-" + id + ".log"), "");
    Path process = Files.createDirectories(folder.resolve("proc/" + pid));
    Files.writeString(process.resolve("cgroup"), "0::/kubepods/pod" + uid + "/" + id + "\n");
  }
}
