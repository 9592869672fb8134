package dev.tranche.e2e.bench.soak;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** All faults of a soak. They strike one at a time. */
final class Faults {
  private static final String JAVA = "java";
  private static final int BURST_PODS = 60;

  private Faults() {}

  private static final List<Fault> ALL =
      List.of(
          new Fault("leader killed", t -> t.kill(t.leader(), JAVA)),
          new Fault("extender killed", t -> t.kill(t.any("extender"), JAVA)),
          new Fault("webhook killed", t -> t.kill(t.any("webhook"), JAVA)),
          new Fault("node plugin killed", t -> t.kill(t.any("node-plugin"), JAVA)),
          new Fault("our kube-scheduler killed", t -> t.kill(t.leader(), "kube-scheduler")),
          new Fault("leader frozen", t -> t.freeze(t.leader(), JAVA), Target::goOn),
          new Fault("webhook frozen", t -> t.freeze(t.any("webhook"), JAVA), Target::goOn),
          new Fault("node plugin frozen", t -> t.freeze(t.any("node-plugin"), JAVA), Target::goOn),
          new Fault("kubelet killed", t -> t.signal(t.node(), "kubelet", "KILL")),
          node("kubelet", "kubelet frozen, PodResources hang"),
          new Fault("containerd killed", t -> t.signal(t.node(), "containerd", "KILL")),
          new Fault("etcd killed", t -> t.signal(t.server(), "etcd", "KILL")),
          new Fault("API server killed", t -> t.signal(t.server(), "kube-apiserver", "KILL")),
          server("kube-apiserver", "API server frozen, watches silent"),
          server("etcd", "etcd frozen, writes time out"),
          new Fault(
              "controller manager killed",
              t -> t.signal(t.server(), "kube-controller-manager", "KILL")),
          new Fault("leader cannot reach nodes", t -> t.disconnect(t.leader()), Target::connect),
          new Fault("GPU lost", t -> t.loseGpu(t.node()), Target::returnGpus),
          new Fault("XID", t -> t.xid(t.node()), Target::returnGpus),
          new Fault(
              "NVML hangs",
              t -> {
                String node = t.node();
                t.gpus(node).hang("nvmlDeviceGetMemoryInfo_v2", true);
                return "NVML of node %s hangs".formatted(node);
              },
              Target::returnGpus),
          new Fault(
              "foreign process fills the memory",
              t -> {
                String node = t.node();
                t.gpus(node).load(1, 100, 15_000);
                return "GPU 1 of node %s is full".formatted(node);
              },
              Target::returnGpus),
          new Fault(
              "state folder full, node plugin restarted",
              t -> t.fillStateFolder(t.node()),
              Target::restoreStateFolders),
          new Fault("certificates replaced", Target::replaceCertificates),
          new Fault("all parts replaced", Target::replaceAll),
          new Fault("namespace deleted", Target::deleteNamespace),
          new Fault(
              "burst of pods",
              t -> t.churn.burst(SoakBench.NAMESPACE, BURST_PODS) + " pods were created at once"));

  private static Fault node(String program, String name) {
    return frozen(name, program, false);
  }

  private static Fault server(String program, String name) {
    return frozen(name, program, true);
  }

  private static Fault frozen(String name, String program, boolean onServer) {
    return new Fault(
        name,
        t -> t.signal(onServer ? t.server() : t.node(), program, "STOP"),
        t -> {
          for (String node : onServer ? List.of(t.server()) : t.tranche.nodes()) {
            t.signal(node, program, "CONT");
          }
        });
  }

  static int count() {
    return ALL.size();
  }

  /** Returns all faults in a random order. */
  static List<Fault> shuffled(Random random) {
    var faults = new ArrayList<>(ALL);
    Collections.shuffle(faults, random);
    return faults;
  }
}
