package dev.tranche.nodeplugin;

import static dev.tranche.nodeplugin.FakeNvml.gpu;
import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.nodeplugin.config.ConfigSource;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.config.Setting;
import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.GpuWatch;
import dev.tranche.nodeplugin.gpu.NvmlThread;
import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.health.XidPolicy;
import dev.tranche.nodeplugin.kubelet.Hardware;
import dev.tranche.nodeplugin.nvml.JnaNvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.nodeplugin.usage.UsageReader;
import dev.tranche.process.loop.MonotonicClock;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.net.SelfSignedCertificate;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The whole plugin between a fake kubelet, the simulated NVML and two extender replicas. Fields
 * without a value are set by start.
 */
@SuppressWarnings("NullAway.Init")
final class PluginRig {
  static final String SERVICE = "tranche-extender-stream.tranche.svc";

  /** It takes a second to make. */
  static final SelfSignedCertificate CERTIFICATE = SelfSignedCertificate.create(SERVICE);

  /** No test floods ports from it, which would leave none to listen on. */
  static final String SECOND_ADDRESS = "127.0.9.2";

  final Path folder;

  /** Of the node's config, as extenders have told it. */
  final List<String> labels = new CopyOnWriteArrayList<>();

  FakeNvml nvml;
  FakeKubelet kubelet;
  FakeExtender first;
  FakeExtender second;
  NodePlugin plugin;
  Context loop;
  private Vertx vertx;
  private NvmlThread thread;
  private List<String> flags = List.of();
  private Settings<Setting> settings;
  private Options options;

  PluginRig(Path folder) {
    this.folder = folder;
  }

  void start() throws Exception {
    nvml = FakeNvml.compiled();
    nvml.state(gpu(0, "sm=10"), gpu(1, "sm=20"));
    kubelet = new FakeKubelet(Files.createDirectory(folder.resolve("dp")));
    kubelet.start();
    int port = startExtenders();
    Files.copy(Path.of(CERTIFICATE.certificatePath()), folder.resolve("ca.crt"));
    Files.writeString(folder.resolve("token"), "the-token\n");
    Files.createDirectory(folder.resolve("config"));
    config("ten", 10);
    config("twenty", 20);
    flags =
        List.of(
            "--kubelet-socket=" + kubelet.kubeletSocket(),
            "--pod-resources-socket=" + kubelet.podResourcesSocket(),
            "--state-dir=" + folder.resolve("state"),
            "--config-dir=" + folder.resolve("config"),
            "--default-config=ten",
            "--nvidia-compatible=extended",
            "--sample-interval=100ms",
            "--node-name=node-1",
            "--extender-address=" + SERVICE + ":" + port,
            "--extender-ca-file=" + folder.resolve("ca.crt"),
            "--extender-token-file=" + folder.resolve("token"));
    read();
    startPlugin();
  }

  /** Replaces the plugin by one that also has these flags. */
  void restartPlugin(String... more) throws Exception {
    // Two open sessions of NVML would share one library: the first has to be where it can be ended.
    advertised();
    stopPlugin();
    read(more);
    startPlugin();
  }

  /** Replicas have one port, which may be free on one address and taken on the other. */
  private int startExtenders() throws Exception {
    second = new FakeExtender(SECOND_ADDRESS, CERTIFICATE);
    for (int tried = 1; ; tried++) {
      first = new FakeExtender("127.0.0.1", CERTIFICATE);
      int port = first.start(0);
      try {
        second.start(port);
        return port;
      } catch (IOException taken) {
        first.close();
        if (tried == 10) {
          throw taken;
        }
      }
    }
  }

  void config(String name, int replicas) throws IOException {
    Files.writeString(
        folder.resolve("config").resolve(name),
        """
        version: v1
        sharing:
          timeSlicing:
            resources:
              - name: nvidia.com/gpu
                replicas: %d
        """
            .formatted(replicas));
  }

  private static final List<String> OVERUSE =
      List.of("--overuse=cordon-gpu", "--overuse-tolerance=5%", "--overuse-samples=2");

  @SuppressWarnings("NullAway.Init")
  private ConfigKeeper configs;

  private void read(String... more) {
    ConfigErrors findings = new ConfigErrors();
    settings =
        Settings.read(
            Setting.class,
            Stream.of(flags.stream(), OVERUSE.stream(), Stream.of(more)).flatMap(of -> of).toList(),
            Map.of(),
            findings);
    options = Options.of(settings);
    assertThat(findings.errors()).isEmpty();
  }

  void startPlugin() {
    vertx = Vertx.vertx();
    loop = vertx.getOrCreateContext();
    plugin =
        new NodePlugin(
            vertx,
            options,
            () -> Hardware.NONE,
            host -> addresses(),
            new NodePlugin.Host() {
              @Override
              public void label(String value) {
                labels.add(value);
                configs.label(value);
              }
            });
    plugin.load();
    configs =
        new ConfigKeeper(
            vertx,
            new ConfigSource(settings),
            options.stateDir(),
            plugin.metrics(),
            plugin::configured);
    Outcome config = configs.load();
    loop.runOnContext(
        v -> {
          plugin.configured(config);
          plugin.start();
          vertx.setPeriodic(
              1_000,
              id -> {
                plugin.tick();
                configs.check();
              });
        });
    thread =
        new NvmlThread(
            () -> JnaNvml.open(nvml.root()),
            new GpuWatch(
                new HealthOptions(XidPolicy.parse("", "", word -> {}), 300, 200),
                new UsageReader(folder.resolve("proc"), folder.resolve("log"), MonotonicClock::ms),
                MonotonicClock::ms,
                plugin.failures()),
            options.sampleIntervalMs(),
            MonotonicClock::ms,
            new Samples());
    thread.start();
  }

  private static List<InetAddress> addresses() {
    return List.of(InetAddress.ofLiteral("127.0.0.1"), InetAddress.ofLiteral(SECOND_ADDRESS));
  }

  private final class Samples implements NvmlThread.Listener {
    @Override
    public boolean unavailable(NvmlException reason) {
      throw reason;
    }

    @Override
    public void started(String driverVersion, GpuLinkScores linkScores) {}

    @Override
    public void sampled(List<GpuStatus> gpus, NvmlThread.WatchState watch) {
      loop.runOnContext(v -> plugin.sampled(gpus, watch));
    }
  }

  void stopPlugin() throws Exception {
    var stopped = new CompletableFuture<Void>();
    loop.runOnContext(v -> plugin.stop().onComplete(done -> stopped.complete(null)));
    stopped.get(30, TimeUnit.SECONDS);
    thread.close();
    vertx.close().await();
  }

  void stop() throws Exception {
    stopPlugin();
    kubelet.close();
    first.close();
    second.close();
  }

  void advertised() {
    until("20 replicas are advertised", () -> kubelet.healthy() == 20);
  }

  void connected() {
    until(
        "both extenders have a report with GPUs of a registered node",
        () -> ready(first) && ready(second));
  }

  void ready() {
    advertised();
    connected();
  }

  /** Assigns replicas to a pod's container main, and waits until the plugin has them. */
  void assign(String pod, String uuid, int replicas) throws Exception {
    direct(NodeDirective.newBuilder().addAssign(assign(pod, "main", uuid, replicas)));
  }

  void direct(NodeDirective.Builder directive) throws Exception {
    int number = first.direct(directive);
    until("acknowledged", () -> first.last().getAppliedDirective() == number);
  }

  static boolean ready(FakeExtender extender) {
    return extender.last().getGpusCount() == 2 && extender.last().getRegistered();
  }

  static Assignment assign(String pod, String container, String uuid, int replicas) {
    var share = GpuShare.newBuilder().setUuid(uuid).setReplicas(replicas);
    return Assignment.newBuilder()
        .setPodUid("uid-" + pod)
        .setNamespace("default")
        .setPod(pod)
        .setResource("nvidia.com/gpu")
        .setExpiresInMs(60_000)
        .addContainers(ContainerAssignment.newBuilder().setContainer(container).addShares(share))
        .addHeld(share)
        .build();
  }
}
