package dev.tranche.e2e.cluster;

import com.github.dockerjava.api.command.CreateContainerCmd;
import java.util.List;

/** What a node's container is made from. Both kinds understand K3s's options and environment. */
sealed interface Distribution permits K3s, StandIn {

  String image();

  /** Changes a node's container before it is created. */
  void prepare(CreateContainerCmd container);

  /** A shell command that kills the kubelet; the node brings it back by itself. */
  String killKubelet();

  /** A shell command that kills kube-scheduler; the server brings it back by itself. */
  String killScheduler();

  /** A shell command that prints the last lines of the logs that say why a node is not ready. */
  String tailLogs();

  /** Returns the published rancher/k3s if its image is available, or else the stand-in. */
  static Distribution choose(String kubernetesVersion) {
    var image = "rancher/k3s:" + kubernetesVersion + "-k3s1";
    boolean forced = "1".equals(System.getenv("TRANCHE_E2E_FORCE_STANDIN"));
    if (!forced && Scripts.succeeds(".build/registry.sh", image)) {
      return new K3s(image);
    }
    return StandIn.build(kubernetesVersion);
  }

  /**
   * Every node gets a control group tree of its own: kubelets that share one kill each other's
   * pods.
   */
  static void isolateControlGroups(CreateContainerCmd container) {
    var host = container.getHostConfig();
    if (host == null) {
      return;
    }
    host.withCgroupnsMode("private");
    var binds = host.getBinds();
    if (binds != null) {
      host.withBinds(
          List.of(binds).stream()
              .filter(bind -> !bind.getVolume().getPath().equals("/sys/fs/cgroup"))
              .toList());
    }
  }
}
