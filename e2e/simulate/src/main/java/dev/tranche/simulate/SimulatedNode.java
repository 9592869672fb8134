package dev.tranche.simulate;

import java.util.ArrayList;
import java.util.List;

/** A machine with GPUs, a kubelet and a plugin. */
final class SimulatedNode {
  final String name;
  final List<GpuModel> gpus = new ArrayList<>();
  final KubeletModel kubelet;
  final PluginModel plugin;
  private final World world;
  private final int number;

  SimulatedNode(World world, int number, int gpuCount) {
    this.world = world;
    this.number = number;
    this.name = "n" + number;
    for (int i = 0; i < gpuCount; i++) {
      // Some nodes have GPUs of both models.
      String model = (number + i) % 3 == 0 ? "H200" : "H100";
      gpus.add(new GpuModel("GPU-" + number + "-" + i, model, i, world.queue));
    }
    this.kubelet = new KubeletModel(world, name, gpus);
    this.plugin = new PluginModel(world, name, gpus, kubelet, Scenario.REPLICAS);
    kubelet.serve(plugin);
  }

  void start() {
    world.queue.after(world.scenario.addedMs(number), this::added);
  }

  private void added() {
    world.api.createNode(name, 0);
    kubelet.start();
    plugin.start();
  }

  /** Its machine is gone for a while; then a new one has its name and its GPUs. */
  void remove(long forMs) {
    world.history.add(name, "is removed");
    kubelet.remove();
    plugin.remove();
    world.api.removeNode(name);
    world.queue.after(forMs / 2, this::collectPods);
    world.queue.after(
        forMs,
        () -> {
          collectPods();
          added();
        });
  }

  /** Kubernetes' garbage collector removes pods of nodes that do not exist. */
  private void collectPods() {
    List.copyOf(world.api.pods.all()).stream()
        .filter(pod -> name.equals(pod.node()))
        .forEach(pod -> world.api.delete(pod.uid(), true));
  }
}
