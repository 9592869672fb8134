package dev.tranche.e2e.cluster;

import com.github.dockerjava.api.command.CreateContainerCmd;

/** rancher/k3s as it is published. */
record K3s(String image) implements Distribution {
  /**
   * Restarts K3s when it is killed. The kubelet is part of the K3s process; containers belong to
   * their shims and keep running. On cgroup v2 a group with processes can have no children. K3s
   * handles that only as process 1, which is this shell here.
   */
  private static final String LOOP =
      """
      if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
        mkdir -p /sys/fs/cgroup/init
        while read -r pid; do echo "$pid" >/sys/fs/cgroup/init/cgroup.procs; done </sys/fs/cgroup/cgroup.procs
        sed -e 's/ / +/g' -e 's/^/+/' /sys/fs/cgroup/cgroup.controllers >/sys/fs/cgroup/cgroup.subtree_control
      fi
      mount --make-rshared /
      trap 'kill $child; exit 0' TERM INT
      while :; do
        k3s "$@" & child=$!
        wait $child
        sleep 0.3
      done
      """;

  @Override
  public void prepare(CreateContainerCmd container) {
    Distribution.isolateControlGroups(container);
    container.withEntrypoint("/bin/sh", "-c", LOOP, "k3s");
  }

  @Override
  public String killKubelet() {
    return "kill -9 $(pidof k3s-server k3s-agent k3s | tr ' ' '\\n' | head -n 1)";
  }

  /** K3s runs kube-scheduler and the kubelet in one process. */
  @Override
  public String killScheduler() {
    return killKubelet();
  }

  @Override
  public String tailLogs() {
    return "tail -n 12 /var/lib/rancher/k3s/agent/containerd/containerd.log";
  }
}
