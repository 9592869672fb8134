package dev.tranche.e2e.cluster;

import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;

/** Images that clusters are given, as tars; built when they are first asked for. */
public final class TestImages {
  /** A shell and the usual commands. */
  public static final String BUSYBOX = "tranche-e2e/busybox:1";

  private TestImages() {}

  public static Path busybox() {
    return tar("busybox", Map.of());
  }

  /** {@code registry.k8s.io/kube-scheduler} of the clusters' version. */
  public static Path kubeScheduler() {
    return tar("scheduler", Map.of("KUBERNETES_VERSION", KubernetesVersion.ofClusters()));
  }

  private static Path tar(String part, Map<String, String> environment) {
    var values = Scripts.values(environment, "e2e/stand-in/build.sh", part);
    return Path.of(Objects.requireNonNull(values.get(part)));
  }
}
