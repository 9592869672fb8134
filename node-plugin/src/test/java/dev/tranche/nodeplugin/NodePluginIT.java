package dev.tranche.nodeplugin;

import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.kubelet.Device;
import dev.tranche.api.node.NodeDirective;
import io.vertx.core.net.SelfSignedCertificate;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The whole plugin between a fake kubelet, the simulated NVML and two extender replicas. */
class NodePluginIT extends WithPlugin {
  private static final String VISIBLE = "NVIDIA_VISIBLE_DEVICES";

  @Test
  void plugin_registersAndAdvertisesEveryReplica() {
    rig.advertised();
    assertThat(kubelet.devices()).extracting(d -> d.getID()).contains("GPU-0::0", "GPU-1::9");
    assertThat(kubelet.devices()).noneMatch(d -> d.hasTopology());
    assertThat(kubelet.registrations()).isEqualTo(1);
  }

  @Test
  void allocate_ofTwoReplicas_namesTheGpuOnce() throws Exception {
    rig.advertised();
    var answer = kubelet.allocate(List.of("GPU-1::3", "GPU-1::4"));
    assertThat(answer.getContainerResponses(0).getEnvsMap())
        .containsOnly(
            Map.entry(VISIBLE, "GPU-1"),
            Map.entry("TRANCHE_GPU_FRACTION", "0.2"),
            Map.entry("TRANCHE_GPU_MEMORY_MIB", "2982"));
    assertThatThrownBy(() -> kubelet.allocate(List.of("GPU-7::0")))
        .hasMessage(
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: unknown device:"
                + " GPU-7::0");
  }

  @Test
  void plainPods_fillOneGpuBeforeTheNext() throws Exception {
    rig.advertised();
    for (int i = 0; i < 3; i++) {
      kubelet.admit("plain-" + i, Map.of("main", 3));
      assertThat(kubelet.held("plain-" + i, "main")).allMatch(id -> id.startsWith("GPU-0::"));
    }
    kubelet.admit("plain-3", Map.of("main", 3));
    assertThat(kubelet.held("plain-3", "main")).allMatch(id -> id.startsWith("GPU-1::"));
  }

  @Test
  void kubeletRestart_isFollowed() throws Exception {
    rig.advertised();
    kubelet.stop();
    kubelet.start();
    rig.advertised();
    assertThat(kubelet.registrations()).isGreaterThan(1);
    assertThat(kubelet.admit("after", Map.of("main", 1))).hasSize(1);
  }

  @Test
  void droppedStream_bringsAnotherRegistration() {
    rig.advertised();
    kubelet.dropWatch();
    rig.advertised();
    assertThat(kubelet.registrations()).isEqualTo(2);
  }

  @Test
  void lostAnswerOfTheKubelet_isNoFailure_whileTheStreamIsOpen() throws Exception {
    rig.advertised();
    rig.stopPlugin();
    kubelet.loseAnswers(true);
    rig.startPlugin();
    rig.ready();
    assertThat(scrape()).contains("tranche_node_registered 1.0");
    kubelet.loseAnswers(false);
    rig.stopPlugin();
    rig.startPlugin();
    rig.ready();
    assertThat(kubelet.registrations()).isEqualTo(3);
  }

  @Test
  void socketThatTheKubeletKnowsForEver_doesNotKeepTheNextProcessOut() throws Exception {
    rig.advertised();
    String first = kubelet.endpoint("nvidia.com/gpu");
    assertThat(kubelet.registerAgain("nvidia.com/gpu"))
        .contains("device plugin already connected: " + first);
    rig.stopPlugin();
    rig.startPlugin();
    until("the next process is registered", () -> kubelet.registrations() == 2);
    rig.ready();
    assertThat(kubelet.endpoint("nvidia.com/gpu")).isNotEqualTo(first);
    assertThat(kubelet.admit("after", Map.of("main", 1))).hasSize(1);
  }

  @Test
  void load_isReportedToBothReplicas() throws Exception {
    rig.connected();
    assertThat(first.authorization()).isEqualTo("Bearer the-token");
    assertThat(first.last().getNode()).isEqualTo("node-1");
    assertThat(first.last().getGpus(0).getReplicas()).isEqualTo(10);
    nvml.state(gpu(0, "sm=90 used_mib=4096"), gpu(1, "sm=20"));
    until("both hear of the load", () -> busy(first) && busy(rig.second));
    assertThat(first.last().getGpus(0).getMemoryReservedBytes()).isEqualTo(450L << 20);
  }

  private static boolean busy(FakeExtender extender) {
    var load = extender.last().getGpus(0).getLoad();
    return load.getSmUtilizationPercent() == 90 && load.getMemoryUsedBytes() == 4096L << 20;
  }

  @Test
  void activity_isReported_andLeftOutWhereItIsNotKnown() throws Exception {
    // Before the start, since a GPU without GPM is asked again after a minute.
    rig.stopPlugin();
    nvml.state(gpu(0, "sm=98 gpm=1 gpm_sm=80 gpm_tensor=0 gpm_dram=90"), gpu(1, "sm=20"));
    rig.startPlugin();
    rig.connected();
    until(
        "the extender hears of the activity",
        () -> first.last().getGpus(0).getLoad().getDramActivePercent() == 90);
    var known = first.last().getGpus(0).getLoad();
    assertThat(known.getSmActivePercent()).isEqualTo(80);
    assertThat(known.hasTensorActivePercent()).isTrue();
    var unknown = first.last().getGpus(1).getLoad();
    assertThat(unknown.hasSmActivePercent()).isFalse();
  }

  @Test
  void assignment_isAcknowledgedKeptAndConfirmed() throws Exception {
    rig.ready();
    rig.assign("train", "GPU-1", 3);
    until("echoed to the other replica", () -> rig.second.last().getAssignmentsCount() == 1);
    kubelet.admit("train", Map.of("main", 3));
    assertThat(kubelet.held("train", "main")).allMatch(id -> id.startsWith("GPU-1::"));
    until(
        "read back and confirmed",
        () -> first.last().getHoldingsCount() == 1 && first.last().getAssignmentsCount() == 0);
    assertThat(first.last().getHoldings(0).getPod()).isEqualTo("train");
  }

  @Test
  void burst_ofEqualSizes_allGetTheirOwnGpu() throws Exception {
    rig.ready();
    var directive = NodeDirective.newBuilder();
    for (int i = 0; i < 6; i++) {
      directive.addAssign(PluginRig.assign("burst-" + i, "main", "GPU-" + i % 2, 3));
    }
    rig.direct(directive);
    for (int i : List.of(3, 0, 5, 1, 4, 2)) {
      kubelet.admit("burst-" + i, Map.of("main", 3));
      String prefix = "GPU-" + i % 2 + "::";
      assertThat(kubelet.held("burst-" + i, "main")).allMatch(id -> id.startsWith(prefix));
    }
  }

  @Test
  void splitShare_isRefusedNamingBothGpus() throws Exception {
    rig.ready();
    rig.assign("split", "GPU-1", 2);
    kubelet.breakPodResources(true);
    kubelet.prefer(kubelet.free(), 2);
    assertThatThrownBy(() -> kubelet.allocate(List.of("GPU-0::0", "GPU-1::0")))
        .hasMessageContaining("1 of GPU-0 and 1 of GPU-1")
        .hasMessageContaining("assigned was 2 of GPU-1");
  }

  @Test
  void pluginRestart_keepsAssignments() throws Exception {
    rig.ready();
    rig.assign("late", "GPU-1", 4);
    until("written", () -> Files.exists(folder.resolve("state/assignments.binpb")));
    rig.stopPlugin();
    assertThat(first.last().getDraining()).isTrue();
    assertThat(rig.second.last().getDraining()).isTrue();
    assertThat(folder.resolve("dp").resolve(kubelet.endpoint("nvidia.com/gpu"))).doesNotExist();
    rig.startPlugin();
    until("it has registered again", () -> kubelet.registrations() == 2);
    rig.advertised();
    kubelet.admit("late", Map.of("main", 4));
    assertThat(kubelet.held("late", "main")).allMatch(id -> id.startsWith("GPU-1::"));
  }

  @Test
  void label_selectsTheConfig_andAWrongOneChangesNothing() throws Exception {
    rig.ready();
    first.direct(NodeDirective.newBuilder().setConfigName("twenty"));
    until("replicas of the other config", () -> kubelet.healthy() == 40);
    until("reported", () -> first.last().getConfig().getName().equals("twenty"));
    first.direct(NodeDirective.newBuilder().setConfigName("none-such"));
    until("told what is wrong", () -> !first.last().getConfig().getError().isEmpty());
    assertThat(first.last().getConfig().getError()).contains("none-such").contains("ten, twenty");
    assertThat(first.last().getConfig().getName()).isEqualTo("twenty");
    assertThat(kubelet.healthy()).isEqualTo(40);
    first.direct(NodeDirective.newBuilder().setConfigName("twenty"));
    until("cured", () -> first.last().getConfig().getError().isEmpty());
    rig.stopPlugin();
    rig.startPlugin();
    until("its name was kept over the restart", () -> kubelet.healthy() == 40);
  }

  @Test
  void label_changesNothingWhileItIsUnknown_andIsGoneWhenItIsEmpty() throws Exception {
    rig.ready();
    first.direct(NodeDirective.newBuilder().setConfigName("twenty"));
    until("replicas of the other config", () -> kubelet.healthy() == 40);
    Path kept = folder.resolve("state/config-name");
    until("its name is kept", () -> holds(kept, "twenty\n"));
    int unknown = rig.second.direct(NodeDirective.newBuilder());
    until("acknowledged", () -> rig.second.last().getAppliedDirective() == unknown);
    assertThat(rig.labels).containsOnly("twenty");
    first.direct(NodeDirective.newBuilder().setConfigName(""));
    until("replicas of the default config", () -> kubelet.healthy() == 20);
    until("no name is kept", () -> holds(kept, "\n"));
  }

  private static boolean holds(Path file, String text) {
    try {
      return Files.exists(file) && Files.readString(file).equals(text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void write(String name, String yaml) throws IOException {
    Path fresh = folder.resolve(name + ".new");
    Files.writeString(fresh, yaml);
    Files.move(fresh, folder.resolve("config").resolve(name), StandardCopyOption.REPLACE_EXISTING);
  }

  private List<String> unhealthy() {
    return kubelet.devices().stream()
        .filter(d -> d.getHealth().equals("Unhealthy"))
        .map(Device::getID)
        .toList();
  }

  @Test
  void editedConfig_keepsWhatIsInUse_andRetiresItWhenItIsFree() throws Exception {
    rig.ready();
    kubelet.admit("old", Map.of("main", 9));
    assertThat(kubelet.held("old", "main")).allMatch(id -> id.startsWith("GPU-0::"));
    until("read back", () -> first.last().getHoldingsCount() == 1);
    rig.config("ten", 4);
    // Of GPU 0 a tenth is left, which is less than a quarter.
    until("nine are kept for their pod", () -> kubelet.devices().size() == 9 + 4 + 4);
    // Nine that the pod requests and GPU 1's four: kube-scheduler finds four free.
    assertThat(unhealthy()).hasSize(4).allMatch(id -> id.startsWith("GPU-0::"));
    assertThat(kubelet.healthy()).isEqualTo(9 + 4);
    kubelet.admit("new", Map.of("main", 4));
    assertThat(kubelet.held("new", "main")).allMatch(id -> id.startsWith("GPU-1::"));
    kubelet.delete("new");
    until("one pod is left", () -> first.last().getHoldingsCount() == 1);
    assertThat(first.last().getHoldings(0).getDeviceIdsCount()).isEqualTo(9);
    assertThat(kubelet.registrations()).isEqualTo(1);
    rig.stopPlugin();
    rig.startPlugin();
    until("the restart has forgotten nothing", () -> kubelet.devices().size() == 17);
    kubelet.delete("old");
    until("they are retired", () -> kubelet.devices().size() == 8 && kubelet.healthy() == 8);
  }

  @Test
  void sharedAndWholeGpus_areTwoResources_andOnlyTheNewOneIsRegistered() throws Exception {
    rig.ready();
    kubelet.admit("old", Map.of("main", 1));
    until("read back", () -> first.last().getHoldingsCount() == 1);
    write(
        "ten",
        """
        sharing:
          timeSlicing:
            resources: [{name: gpu, rename: gpu.shared, devices: [1], replicas: 10}]
        """);
    until("the other GPU is renamed", () -> kubelet.devices("nvidia.com/gpu.shared").size() == 10);
    assertThat(kubelet.registrations()).isEqualTo(2);
    Path shared = folder.resolve("dp").resolve(kubelet.endpoint("nvidia.com/gpu.shared"));
    assertThat(shared).exists();
    assertThat(folder.resolve("dp").resolve(kubelet.endpoint("nvidia.com/gpu"))).exists();
    until("GPU 0 waits for its pod", () -> unhealthy().equals(List.of("GPU-0")));
    kubelet.admit("nvidia.com/gpu.shared", "new", Map.of("main", 2));
    assertThat(kubelet.held("new", "main")).containsExactly("GPU-1::0", "GPU-1::1");
    kubelet.delete("old");
    until("GPU 0 is whole", () -> ids("nvidia.com/gpu").equals(List.of("GPU-0")));
    until("all is healthy", () -> unhealthy().isEmpty());
    until(
        "both holds are told",
        () -> resources().equals(List.of("nvidia.com/gpu", "nvidia.com/gpu.shared")));
    write("ten", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 10}]}}");
    until("two of GPU 1 wait for its pod", () -> unhealthy().size() == 2);
    kubelet.delete("new");
    until("its resource has gone", () -> kubelet.devices("nvidia.com/gpu.shared").isEmpty());
    rig.advertised();
    until("so has its socket", () -> !Files.exists(shared));
  }

  private List<String> ids(String resource) {
    return kubelet.devices(resource).stream().map(Device::getID).toList();
  }

  private List<String> resources() {
    return first.last().getGpusList().stream().map(gpu -> gpu.getResource()).toList();
  }

  @Test
  void brokenConfig_leavesTheOldOne_andIsAnEventAndAMetric() throws Exception {
    rig.ready();
    write("ten", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 6000}]}}");
    until("told", () -> first.last().getConfig().getError().contains("12000 replicas"));
    assertThat(kubelet.healthy()).isEqualTo(20);
    assertThat(first.last().getGpus(0).getReplicas()).isEqualTo(10);
    assertThat(first.last().getEvents(0).getReason()).isEqualTo("ConfigRefused");
    assertThat(first.last().getEvents(0).getMessage()).contains("config ten is refused");
    assertThat(scrape()).contains("tranche_node_config_errors 1.0");
    write("ten", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 5}]}}");
    until("the mended one is used", () -> kubelet.healthy() == 10);
    until("cured", () -> first.last().getConfig().getError().isEmpty());
    assertThat(first.last().getEvents(1).getMessage())
        .isEqualTo("config ten is in use: nvidia.com/gpu: 2 GPUs, 10 replicas");
    assertThat(scrape()).contains("tranche_node_config_errors 0.0");
  }

  @Test
  void brokenConfig_thatIsTakenBack_isAnEventAgain() throws Exception {
    rig.ready();
    write("ten", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 0}]}}");
    until("refused", () -> reasons().contains("ConfigRefused"));
    write("ten", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 10}]}}");
    until("taken back", () -> reasons().equals(List.of("ConfigRefused", "ConfigUsed")));
  }

  @Test
  void firstConfig_thatIsRefusedAndMended_isAnEventAgain() throws Exception {
    rig.advertised();
    rig.stopPlugin();
    write("ten", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 6000}]}}");
    rig.startPlugin();
    until("refused", () -> reasons().contains("ConfigRefused"));
    write("ten", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 10}]}}");
    until("in use", () -> reasons().equals(List.of("ConfigRefused", "ConfigUsed")));
    rig.advertised();
  }

  @Test
  void memoryErrorsFromBeforeTheStart_areTold_andTheGpuIsUsed() throws Exception {
    rig.advertised();
    rig.stopPlugin();
    nvml.state(gpu(0, "ecc_uncorrected=2"), gpu(1, "ecc_uncorrected=0"));
    rig.startPlugin();
    until("told", () -> reasons().equals(List.of("GpuMemoryErrors")));
    assertThat(first.last().getEvents(0).getMessage()).contains("GPU-0", "2 uncorrectable");
    rig.advertised();
  }

  @Test
  void strictSharing_refusesTwoReplicas_unlessTheyAreOneAssignedShare() throws Exception {
    write(
        "ten",
        "sharing: {timeSlicing: {failRequestsGreaterThanOne: true, resources: [{name: gpu,"
            + " replicas: 5}]}}");
    until("it is in use", () -> kubelet.healthy() == 10);
    rig.connected();
    assertThatThrownBy(() -> kubelet.admit("plain", Map.of("main", 2)))
        .hasMessage(
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: maximum request"
                + " size for shared resources is 1; found 2");
    kubelet.delete("plain");
    rig.assign("cut", "GPU-1", 2);
    kubelet.admit("cut", Map.of("main", 2));
    assertThat(kubelet.held("cut", "main")).allMatch(id -> id.startsWith("GPU-1::"));
  }

  @Test
  void extenderWithAnotherName_getsNothing() throws Exception {
    rig.connected();
    SelfSignedCertificate other = SelfSignedCertificate.create("somebody-else");
    // Trusted, and still not who it ought to be.
    Files.write(
        folder.resolve("ca.crt"),
        Files.readAllBytes(Path.of(other.certificatePath())),
        StandardOpenOption.APPEND);
    rig.second.show(other);
    double before = ends();
    until("it was tried", () -> ends() > before);
    assertThat(rig.second.reports()).isEmpty();
    assertThat(rig.second.authorization()).isEmpty();
  }

  private double ends() {
    return scrape()
        .lines()
        .filter(line -> line.startsWith("tranche_node_stream_ends_total"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  @Test
  void extenderRestart_isFollowed() throws Exception {
    rig.connected();
    rig.second.endConnections();
    rig.second.reports().clear();
    until("it has reports again", () -> PluginRig.ready(rig.second));
  }
}
