package dev.tranche.e2e.cluster;

import com.github.dockerjava.api.command.CreateContainerCmd;
import com.github.dockerjava.api.model.Capability;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Our own image of stock Kubernetes components: see {@code e2e/stand-in}. */
record StandIn(String image) implements Distribution {
  /** Bit 24 of Linux's capabilities. */
  private static final int CAP_SYS_RESOURCE = 24;

  static StandIn build(String kubernetesVersion) {
    var values =
        Scripts.values(
            Map.of("KUBERNETES_VERSION", kubernetesVersion), "e2e/stand-in/build.sh", "node");
    return new StandIn(values.getOrDefault("node", ""));
  }

  @Override
  public void prepare(CreateContainerCmd container) {
    Distribution.isolateControlGroups(container);
    var host = container.getHostConfig();
    if (host == null || mayGrantEverything()) {
      return;
    }
    // An engine cannot grant a capability that this machine lacks, SYS_RESOURCE here. All others
    // are enough.
    host.withPrivileged(false)
        .withCapAdd(Capability.ALL)
        .withCapDrop(Capability.SYS_RESOURCE)
        .withSecurityOpts(List.of("seccomp=unconfined", "apparmor=unconfined"))
        .withDeviceCgroupRules(List.of("a *:* rwm"));
  }

  @Override
  public String killKubelet() {
    return "pkill -9 -x kubelet";
  }

  @Override
  public String killScheduler() {
    return "pkill -9 -x kube-scheduler";
  }

  @Override
  public String tailLogs() {
    return "for log in /var/log/stand-in/*.log; do echo \"--- $log\"; tail -n 12 \"$log\"; done";
  }

  private static boolean mayGrantEverything() {
    try {
      return Files.readAllLines(Path.of("/proc/self/status")).stream()
          .filter(line -> line.startsWith("CapBnd:"))
          .map(line -> new BigInteger(line.substring("CapBnd:".length()).strip(), 16))
          .allMatch(bits -> bits.testBit(CAP_SYS_RESOURCE));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
