package dev.tranche.simulate;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.api.podresources.ContainerDevices;
import dev.tranche.api.podresources.PodResources;
import dev.tranche.extender.score.Policy;
import dev.tranche.nodeplugin.SimulatedPlugin;
import dev.tranche.simulate.script.KubeletStage;
import dev.tranche.simulate.script.ScriptedPlugin;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Runs scripts with the model of a kubelet. */
final class ModelKubeletStage implements KubeletStage {
  private static final String NODE = "n";
  private static final long GRACE_MS = 4_000;
  private static final long FOREVER_MS = 86_400_000;
  private static final long PASSED_MS = 500;

  private final World world =
      new World(new Scenario(1, Policy.PACKED, List.of(), List.of(), List.of(), Long.MAX_VALUE));
  private final ScriptedPlugin plugin = new ScriptedPlugin();
  private final KubeletModel kubelet = new KubeletModel(world, NODE, List.of());
  private final PluginProcess process = new ScriptedProcess();
  private final Map<String, String> uids = new LinkedHashMap<>();
  private long atMs = PASSED_MS;

  ModelKubeletStage() {
    world.api.createNode(NODE, 0);
    kubelet.serve(process);
    kubelet.start();
    run();
  }

  private final class ScriptedProcess extends PluginProcess {
    ScriptedProcess() {
      super("plugin", world.queue, world.randoms.of("plugin"));
    }

    @Override
    List<String> prefer(
        String resource, List<String> available, List<String> mustInclude, int size) {
      return plugin.prefer(available, size);
    }

    @Override
    SimulatedPlugin.Allocated allocate(String resource, List<String> ids) {
      return new SimulatedPlugin.Allocated(plugin.allocate(ids).orElse(""), Map.of());
    }

    @Override
    long allocateMs() {
      return 1_000L * plugin.takesSeconds();
    }

    @Override
    void dropped() {
      // A script starts it again.
    }
  }

  private void run() {
    while (world.queue.runNext(atMs)) {
      // Until then.
    }
  }

  private void send() {
    int of = process.incarnation();
    kubelet.run(1, () -> kubelet.devices(process, of, Map.of(Names.RESOURCE, plugin.devices())));
  }

  @Override
  public ScriptedPlugin plugin() {
    return plugin;
  }

  @Override
  public void startPlugin() {
    process.start();
    send();
  }

  @Override
  public void stopPlugin() {
    process.kill();
    kubelet.endpointLost();
  }

  @Override
  public void healthy(String device, boolean now) {
    plugin.healthy(device, now);
    send();
  }

  /** Returns the request of a pod of one container. */
  static List<Demand.Request> main(int replicas) {
    return List.of(new Demand.Request("main", Demand.Kind.APP, replicas));
  }

  @Override
  public void pod(String name, int devices, int runsSeconds) {
    long runMs = runsSeconds == 0 ? FOREVER_MS : 1_000L * runsSeconds;
    var plan =
        new PodPlan(
            uids.size(), world.queue.nowMs(), name, main(devices), 0, 0, runMs, 0, false, GRACE_MS);
    uids.put(name, plan.uid());
    world.api.create(plan);
    world.api.bind(plan.uid(), PodObject.NAMESPACE + "/" + name, NODE, "", "");
  }

  @Override
  public void delete(String pod) {
    world.api.delete(uids.getOrDefault(pod, ""), false);
  }

  @Override
  public void restartKubelet() {
    kubelet.kill();
    kubelet.start();
  }

  @Override
  public void pass(int seconds) {
    atMs += 1_000L * seconds;
    run();
    plugin.note("= " + world.api.nodes.get(NODE).orElseThrow().allocatable() + " allocatable");
    Map<String, Set<String>> held = new TreeMap<>();
    for (PodResources pod : kubelet.list().getPodResourcesList()) {
      pod.getContainersList().stream()
          .flatMap(container -> container.getDevicesList().stream())
          .map(ContainerDevices::getDeviceIdsList)
          .forEach(ids -> held.put(pod.getName(), new TreeSet<>(ids)));
    }
    var states = new TreeMap<String, String>();
    world.api.pods.all().forEach(pod -> states.put(pod.plan().name(), state(pod, held)));
    states.forEach((name, state) -> plugin.note("= %s %s".formatted(name, state)));
  }

  private static String state(PodObject pod, Map<String, Set<String>> held) {
    return switch (pod.phase()) {
      case FAILED -> "has failed";
      case SUCCEEDED -> "has ended";
      case PENDING, RUNNING -> {
        Set<String> ids = held.get(pod.plan().name());
        yield (pod.terminating() ? "ends" : "lives") + (ids == null ? "" : ", has " + ids);
      }
    };
  }

  @Override
  public List<String> recording() {
    return plugin.recording();
  }
}
