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

  SimulatedNode(World world, int number, int gpuCount) {
    this.world = world;
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
    world.api.createNode(name, 0);
    kubelet.start();
    plugin.start();
  }
}
