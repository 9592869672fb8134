package dev.tranche.e2e.bench.record;

import dev.tranche.e2e.cluster.Cluster;
import dev.tranche.e2e.cluster.Node;
import dev.tranche.e2e.cluster.TestImages;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.kubelet.KubeletTruth;
import dev.tranche.simulate.script.KubeletScript;
import dev.tranche.simulate.script.KubeletStage;
import dev.tranche.simulate.script.ScriptedPlugin;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Records what a stock kubelet does in each {@link KubeletScript}. */
public final class RecordKubelet implements KubeletStage {
  private static final String NODE = "only";
  private static final String NAMESPACE = "default";
  private static final String KUBELET = "/var/lib/kubelet/";
  private static final long GRACE_S = 4;
  private static final int SECONDS_MAX = 60;

  private final Cluster cluster;
  private final Path folder;
  private final String resource;
  private final ScriptedPlugin plugin = new ScriptedPlugin();
  private @Nullable PluginServer server;
  private int started;
  private long atMs = System.currentTimeMillis();

  /**
   * @param folder with the kubelet's folders
   * @param resource that no other script has
   */
  private RecordKubelet(Cluster cluster, Path folder, String resource) {
    this.cluster = cluster;
    this.folder = folder;
    this.resource = resource;
  }

  /**
   * Arguments: a short path of an empty folder, for sockets, the file to write, and titles of
   * scripts, if not all.
   */
  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    Path plugins = Files.createDirectories(folder.resolve("device-plugins"));
    Path resources = Files.createDirectories(folder.resolve("pod-resources"));
    var node =
        Node.of(NODE)
            .mount(plugins, KUBELET + "device-plugins")
            .mount(resources, KUBELET + "pod-resources");
    try (var cluster =
        Cluster.builder().withQuickKubelets().node(node).imageTar(TestImages.busybox()).start()) {
      Recorder.write(
          Path.of(args[1]),
          KubeletScript.values(),
          List.of(args).subList(2, args.length),
          script -> record(cluster, folder, script));
    }
    // Clients of gRPC still run.
    System.exit(0);
  }

  private static List<String> record(Cluster cluster, Path folder, KubeletScript script) {
    var stage =
        new RecordKubelet(cluster, folder, "script.example/" + script.title().replace(' ', '-'));
    script.play(stage);
    List<String> recording = stage.recording();
    stage.clear();
    return recording;
  }

  private void clear() {
    pods().forEach(pod -> cluster.client().resource(pod).withGracePeriod(0).delete());
    stopPlugin();
    Await.until("no pod", SECONDS_MAX, () -> pods().isEmpty() && held().isEmpty());
  }

  private List<Pod> pods() {
    return cluster.client().pods().inNamespace(NAMESPACE).list().getItems();
  }

  private KubeletTruth truth() {
    return KubeletTruth.of(folder.resolve("pod-resources/kubelet.sock"));
  }

  private List<String> held() {
    return truth().allDevices();
  }

  @Override
  public ScriptedPlugin plugin() {
    return plugin;
  }

  @Override
  public void startPlugin() {
    stopPlugin();
    started++;
    String name = resource.replace("script.example/", "") + "-" + started + ".sock";
    try {
      server = new PluginServer(plugin, resource, folder.resolve("device-plugins").resolve(name));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (TimeoutException e) {
      throw new IllegalStateException("the kubelet has not answered", e);
    }
  }

  @Override
  public void stopPlugin() {
    PluginServer running = server;
    server = null;
    if (running != null) {
      try {
        running.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  @Override
  public void healthy(String device, boolean now) {
    plugin.healthy(device, now);
    PluginServer running = server;
    if (running != null) {
      running.send();
    }
  }

  @Override
  public void pod(String name, int devices, int runsSeconds) {
    String seconds = runsSeconds == 0 ? "86400" : Integer.toString(runsSeconds);
    var pod =
        PodSpecs.pod(name)
            .editSpec()
            .withNodeName(NODE)
            .withRestartPolicy("Never")
            .withTerminationGracePeriodSeconds(GRACE_S)
            .editFirstContainer()
            // As the first process of a container, it does not end at SIGTERM.
            .withCommand("sleep", seconds)
            .editOrNewResources()
            .addToLimits(resource, new Quantity(Integer.toString(devices)))
            .endResources()
            .endContainer()
            .endSpec()
            .build();
    cluster.client().pods().inNamespace(NAMESPACE).resource(pod).create();
  }

  @Override
  public void delete(String pod) {
    cluster.client().pods().inNamespace(NAMESPACE).withName(pod).delete();
  }

  @Override
  public void restartKubelet() {
    cluster.restartKubelet(NODE);
    atMs = System.currentTimeMillis();
  }

  @Override
  public void pass(int seconds) {
    atMs += 1_000L * seconds;
    Recorder.sleepUntil(atMs);
    Quantity allocatable =
        cluster.client().nodes().withName(NODE).get().getStatus().getAllocatable().get(resource);
    plugin.note("= %s allocatable".formatted(allocatable == null ? "0" : allocatable));
    KubeletTruth truth = truth();
    var states = new TreeMap<String, String>();
    for (Pod pod : pods()) {
      String name = pod.getMetadata().getName();
      states.put(name, state(pod, truth.devices(NAMESPACE, name)));
    }
    states.forEach((name, state) -> plugin.note("= %s %s".formatted(name, state)));
  }

  private static String state(Pod pod, Map<String, List<String>> held) {
    return switch (pod.getStatus().getPhase()) {
      case "Failed" -> "has failed";
      case "Succeeded" -> "has ended";
      default -> {
        List<String> ids = held.values().stream().flatMap(List::stream).toList();
        yield (pod.getMetadata().getDeletionTimestamp() == null ? "lives" : "ends")
            + (ids.isEmpty() ? "" : ", has " + ids);
      }
    };
  }

  @Override
  public List<String> recording() {
    return plugin.recording();
  }
}
