package dev.tranche.e2e.bench;

import dev.tranche.api.Names;
import dev.tranche.api.podresources.AllocatableResourcesRequest;
import dev.tranche.api.podresources.ContainerDevices;
import dev.tranche.api.podresources.PodResourcesListerGrpcClient;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.apps.DaemonSet;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.SocketAddress;
import io.vertx.grpc.client.GrpcClient;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntSupplier;

/**
 * Replaces the node plugin of a node several times, as an upgrade does. It measures for how long
 * the kubelet has no healthy replica, and for how long the node shows none.
 */
final class UpgradeBench {
  private static final String NODE = "one";
  private static final int REPLICAS = 2 * Tranche.REPLICAS_PER_GPU;
  private static final Duration LIMIT = Duration.ofMinutes(3);

  /** The kubelet answers 100 calls a second, the node plugin's included. */
  private static final int EVERY_MS = 20;

  private UpgradeBench() {}

  static List<Figure> run(Artifacts artifacts, boolean quick) throws Exception {
    var plan =
        new Tranche.Plan(
            "upgrade-gap",
            artifacts.root().resolve("target/upgrade-gap"),
            Map.of(NODE, List.of(Model.T4, Model.T4)),
            gpus -> {},
            Map.of("webhook.replicas", 1, "extender.replicas", 1),
            false,
            step -> System.err.println(step));
    Vertx vertx = Vertx.vertx();
    try (Tranche tranche = Tranche.start(artifacts, plan)) {
      GrpcClient grpc = GrpcClient.client(vertx);
      var kubelet =
          PodResourcesListerGrpcClient.create(
              grpc, SocketAddress.domainSocketAddress(tranche.podResourcesSocket(NODE).toString()));
      int runs = quick ? 3 : 10;
      double[] unhealthyMs = new double[runs];
      double[] zeroMs = new double[runs];
      for (int i = 0; i < runs; i++) {
        var ofKubelet = new Gap(() -> healthy(kubelet));
        var ofNode = new Gap(() -> tranche.allocatable().getOrDefault(NODE, 0));
        replace(tranche, ofKubelet, ofNode);
        unhealthyMs[i] = ofKubelet.lengthMs();
        zeroMs[i] = ofNode.lengthMs();
      }
      return List.of(
          new Figure("upgrade.unhealthy_ms.p50", Figure.median(unhealthyMs), "ms"),
          new Figure("upgrade.unhealthy_ms.max", Figure.quantile(1, unhealthyMs), "ms"),
          new Figure("upgrade.zero_allocatable_ms.p50", Figure.median(zeroMs), "ms"),
          new Figure("upgrade.zero_allocatable_ms.max", Figure.quantile(1, zeroMs), "ms"));
    } finally {
      vertx.close().await(10, TimeUnit.SECONDS);
    }
  }

  /** From the first time that a count is 0 until it is complete again; 0 if it never is. */
  private static final class Gap {
    private final IntSupplier count;
    private long sinceNanos = -1;
    private long lengthNanos;
    private int last;

    Gap(IntSupplier count) {
      this.count = count;
    }

    void look() {
      last = count.getAsInt();
      if (last == 0 && sinceNanos < 0) {
        sinceNanos = System.nanoTime();
      } else if (last == REPLICAS && sinceNanos >= 0 && lengthNanos == 0) {
        lengthNanos = System.nanoTime() - sinceNanos;
      }
    }

    boolean complete() {
      return last == REPLICAS;
    }

    double lengthMs() {
      return lengthNanos / 1e6;
    }
  }

  private static void replace(Tranche tranche, Gap ofKubelet, Gap ofNode) throws Exception {
    Resource<DaemonSet> plugin =
        tranche
            .client()
            .apps()
            .daemonSets()
            .inNamespace(Tranche.NAMESPACE)
            .withName("tranche-node-plugin");
    long generation = plugin.get().getMetadata().getGeneration();
    tranche
        .cluster()
        .kubectl("-n", Tranche.NAMESPACE, "rollout", "restart", "ds/tranche-node-plugin")
        .orFail("replacing the node plugin");
    long endNanos = System.nanoTime() + LIMIT.toNanos();
    do {
      if (System.nanoTime() > endNanos) {
        throw new IllegalStateException("the node plugin was not replaced within " + LIMIT);
      }
      ofKubelet.look();
      ofNode.look();
      TimeUnit.MILLISECONDS.sleep(EVERY_MS);
    } while (!isReplaced(plugin.get(), generation) || !ofKubelet.complete() || !ofNode.complete());
  }

  private static boolean isReplaced(DaemonSet plugin, long before) {
    var status = plugin.getStatus();
    return status.getObservedGeneration() != null
        && status.getObservedGeneration() > before
        && Integer.valueOf(1).equals(status.getUpdatedNumberScheduled())
        && Integer.valueOf(1).equals(status.getNumberReady());
  }

  private static int healthy(PodResourcesListerGrpcClient kubelet) {
    try {
      Future<Integer> healthy =
          kubelet
              .getAllocatableResources(AllocatableResourcesRequest.getDefaultInstance())
              .map(
                  answer ->
                      answer.getDevicesList().stream()
                          .filter(devices -> devices.getResourceName().equals(Names.RESOURCE))
                          .mapToInt(ContainerDevices::getDeviceIdsCount)
                          .sum());
      return healthy.await(10, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new IllegalStateException("the kubelet does not answer", e);
    }
  }
}
