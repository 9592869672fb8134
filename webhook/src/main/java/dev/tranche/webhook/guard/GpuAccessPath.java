package dev.tranche.webhook.guard;

import static dev.tranche.webhook.guard.GuardFinding.CDI_ANNOTATION;
import static dev.tranche.webhook.guard.GuardFinding.CDI_SPECS;
import static dev.tranche.webhook.guard.GuardFinding.DEVICE_ANNOTATION;
import static dev.tranche.webhook.guard.GuardFinding.HOST_DEVICES;
import static dev.tranche.webhook.guard.GuardFinding.HOST_PROCESSES;
import static dev.tranche.webhook.guard.GuardFinding.KUBELET_SOCKETS;
import static dev.tranche.webhook.guard.GuardFinding.MPS_CONTROL;
import static dev.tranche.webhook.guard.GuardFinding.RUNTIME_CONFIG;
import static dev.tranche.webhook.guard.GuardFinding.RUNTIME_SOCKET;

import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A path of a node or an annotation of a pod that leads to GPUs, or to components that hand out
 * GPUs. {@link #ALL} is the only list of them: the guard uses it, and docs/guard.md says what each
 * allows.
 *
 * @param place a path; or the key of an annotation, in which {@code *} stands for any text
 */
record GpuAccessPath(Kind kind, String place, GuardFinding finding) {
  enum Kind {
    /** A folder or file: the place itself, all in it, and the folders that hold it. */
    PATH,
    /** All paths that begin with the place, and the folders that contain them. */
    PATH_PREFIX,
    /** The place itself and the folders that hold it, but not what is in it. */
    FOLDER,
    ANNOTATION
  }

  /**
   * CDI's own annotation prefix, and the one that the GPU Operator configures NVIDIA's runtime for.
   * The plugin's configuration can name another.
   */
  static final List<String> CDI_PREFIXES = List.of("cdi.k8s.io/", "nvidia.cdi.k8s.io/");

  /** Folders below the kubelet's root, wherever that is. */
  static final List<String> KUBELET_FOLDERS =
      List.of("device-plugins", "pod-resources", "plugins_registry");

  static final List<GpuAccessPath> ALL =
      List.of(
          prefix("/dev/nvidia", HOST_DEVICES),
          path("/dev/char", HOST_DEVICES),
          path("/dev/dri", HOST_DEVICES),
          path("/dev/vfio", HOST_DEVICES),
          path("/dev/dxg", HOST_DEVICES),
          path("/run/nvidia/driver/dev", HOST_DEVICES),
          path("/run/nvidia/mps", MPS_CONTROL),
          new GpuAccessPath(Kind.FOLDER, "/proc", HOST_PROCESSES),
          path("/var/lib/kubelet/device-plugins", KUBELET_SOCKETS),
          path("/var/lib/kubelet/pod-resources", KUBELET_SOCKETS),
          path("/var/lib/kubelet/plugins_registry", KUBELET_SOCKETS),
          prefix("/run/containerd/containerd.sock", RUNTIME_SOCKET),
          path("/run/containerd/s", RUNTIME_SOCKET),
          prefix("/run/k3s/containerd/containerd.sock", RUNTIME_SOCKET),
          prefix("/run/k0s/containerd.sock", RUNTIME_SOCKET),
          prefix("/run/docker/containerd/containerd.sock", RUNTIME_SOCKET),
          prefix("/var/snap/microk8s/common/run/containerd.sock", RUNTIME_SOCKET),
          path("/run/crio/crio.sock", RUNTIME_SOCKET),
          path("/run/docker.sock", RUNTIME_SOCKET),
          path("/run/cri-dockerd.sock", RUNTIME_SOCKET),
          path("/run/podman/podman.sock", RUNTIME_SOCKET),
          path("/run/nri", RUNTIME_SOCKET),
          path("/opt/nri/plugins", RUNTIME_CONFIG),
          path("/etc/nri/conf.d", RUNTIME_CONFIG),
          path("/etc/containerd", RUNTIME_CONFIG),
          path("/etc/nvidia-container-runtime", RUNTIME_CONFIG),
          path("/etc/cdi", CDI_SPECS),
          path("/run/cdi", CDI_SPECS),
          new GpuAccessPath(Kind.ANNOTATION, CDI_PREFIXES.getFirst() + "*", CDI_ANNOTATION),
          new GpuAccessPath(Kind.ANNOTATION, CDI_PREFIXES.getLast() + "*", CDI_ANNOTATION),
          annotation("*devices.nri.io"),
          annotation("*devices.nri.io/*"),
          annotation("mounts.nri.io"),
          annotation("mounts.nri.io/*"),
          annotation("*devices.noderesource.dev"),
          annotation("*devices.noderesource.dev/*"),
          annotation("mounts.noderesource.dev"),
          annotation("mounts.noderesource.dev/*"),
          annotation("io.kubernetes.cri-o.Devices"),
          annotation("devices.crio.io"),
          annotation("devices.crio.io/*"));

  private static GpuAccessPath path(String place, GuardFinding finding) {
    return new GpuAccessPath(Kind.PATH, place, finding);
  }

  private static GpuAccessPath prefix(String place, GuardFinding finding) {
    return new GpuAccessPath(Kind.PATH_PREFIX, place, finding);
  }

  private static GpuAccessPath annotation(String key) {
    return new GpuAccessPath(Kind.ANNOTATION, key, DEVICE_ANNOTATION);
  }

  /** Returns a pattern of the annotation keys of {@link GuardFinding#DEVICE_ANNOTATION}. */
  static Pattern deviceAnnotations() {
    return Pattern.compile(
        ALL.stream()
            .filter(access -> access.finding == DEVICE_ANNOTATION)
            .map(access -> access.place.replace(".", "\\.").replace("*", ".*"))
            .collect(Collectors.joining("|")),
        Pattern.DOTALL);
  }

  /**
   * Whether a path leads to the place. The path is normalized by {@link HostPaths#normalize} and
   * contains no link.
   */
  boolean isReachableFrom(String path) {
    return switch (kind) {
      case PATH -> HostPaths.isAtOrBelow(path, place) || isBelow(path);
      case PATH_PREFIX -> path.startsWith(place) || isBelow(path);
      case FOLDER -> path.equals(place) || isBelow(path);
      case ANNOTATION -> false;
    };
  }

  private boolean isBelow(String path) {
    return path.equals("/")
        || (place.length() > path.length()
            && place.startsWith(path)
            && place.charAt(path.length()) == '/');
  }
}
