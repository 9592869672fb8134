package dev.tranche.e2e.bench;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.kubelet.FakeKubelet;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;

/**
 * Provides GPUs, a config and a kubelet to the node plugin in the training run of its image. The
 * kubelet registers it and asks for devices, so that the class cache has all classes that a start
 * and an allocation need.
 */
public final class PluginTraining {
  private static final int CALLS = 500;

  private PluginTraining() {}

  /**
   * Lays out a folder for {@code docker run}: {@code driver}, {@code config.yaml}, {@code
   * device-plugins}, {@code pod-resources}; then serves one plugin and ends.
   *
   * @param args the folder, and a fake {@code libnvidia-ml.so.1}
   */
  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]);
    NodeGpus.create(
        folder.resolve("driver"), Path.of(args[1]), "training", Collections.nCopies(2, Model.T4));
    Files.writeString(folder.resolve("config.yaml"), PluginBench.CONFIG);
    Path podResources = Files.createDirectories(folder.resolve("pod-resources"));
    Path sockets = Files.createDirectories(folder.resolve("device-plugins"));
    try (var kubelet =
        new FakeKubelet(sockets.resolve("kubelet.sock"), podResources.resolve("kubelet.sock"))) {
      List<String> ids = kubelet.awaitRegistration() == null ? null : kubelet.awaitDevices();
      if (ids == null) {
        throw new IllegalStateException("no plugin has registered at " + sockets);
      }
      kubelet.preferUs(ids, 3, CALLS);
      kubelet.allocateUs(ids.subList(0, 3), CALLS);
    }
  }
}
