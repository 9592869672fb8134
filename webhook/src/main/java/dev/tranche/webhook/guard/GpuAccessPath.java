package dev.tranche.webhook.guard;

import static dev.tranche.webhook.guard.Finding.CDI_ANNOTATION;
import static dev.tranche.webhook.guard.Finding.CDI_SPECS;
import static dev.tranche.webhook.guard.Finding.DEVICE_ANNOTATION;
import static dev.tranche.webhook.guard.Finding.HOST_DEVICES;
import static dev.tranche.webhook.guard.Finding.HOST_PROCESSES;
import static dev.tranche.webhook.guard.Finding.KUBELET_SOCKETS;
import static dev.tranche.webhook.guard.Finding.MPS_CONTROL;
import static dev.tranche.webhook.guard.Finding.RUNTIME_CONFIG;
import static dev.tranche.webhook.guard.Finding.RUNTIME_SOCKET;

import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A path of a node or an annotation of a pod that leads to GPUs, or to components that hand out
 * GPUs. {@link #ALL} is the only list of them: the guard uses it, and docs/guard.md shows it.
 *
 * @param place a path; or the key of an annotation, in which {@code *} stands for any text
 * @param reason a clause: what access to it allows
 */
record GpuAccessPath(Kind kind, String place, Finding finding, String reason) {
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

  private static final String REGISTERS =
      "its clients can register as a device plugin or CSI driver, or read which pod has which GPU";
  private static final String STARTS = "its clients can start containers with any device";
  private static final String CONFIGURES = "it decides which devices containers get";
  private static final String PLUGS_IN =
      "an NRI plugin adds devices and variables to any container";

  static final List<GpuAccessPath> ALL =
      List.of(
          prefix("/dev/nvidia", HOST_DEVICES, "the GPUs' device files"),
          path("/dev/char", HOST_DEVICES, "the same by their numbers"),
          path("/dev/dri", HOST_DEVICES, "the GPUs as graphics cards"),
          path("/dev/vfio", HOST_DEVICES, "GPUs that are passed through to machines"),
          path("/dev/dxg", HOST_DEVICES, "the GPUs under WSL"),
          path("/run/nvidia/driver/dev", HOST_DEVICES, "device files of a driver in a container"),
          path("/run/nvidia/mps", MPS_CONTROL, "the MPS daemons: their clients run on the GPU"),
          new GpuAccessPath(
              Kind.FOLDER,
              "/proc",
              HOST_PROCESSES,
              "by /proc/PID/root, the node's whole file system"),
          path("/var/lib/kubelet/device-plugins", KUBELET_SOCKETS, REGISTERS),
          path("/var/lib/kubelet/pod-resources", KUBELET_SOCKETS, REGISTERS),
          path("/var/lib/kubelet/plugins_registry", KUBELET_SOCKETS, REGISTERS),
          prefix("/run/containerd/containerd.sock", RUNTIME_SOCKET, STARTS),
          path("/run/containerd/s", RUNTIME_SOCKET, "the shims' sockets: the same for one pod"),
          prefix("/run/k3s/containerd/containerd.sock", RUNTIME_SOCKET, STARTS),
          prefix("/run/k0s/containerd.sock", RUNTIME_SOCKET, STARTS),
          prefix("/run/docker/containerd/containerd.sock", RUNTIME_SOCKET, STARTS),
          prefix("/var/snap/microk8s/common/run/containerd.sock", RUNTIME_SOCKET, STARTS),
          path("/run/crio/crio.sock", RUNTIME_SOCKET, STARTS),
          path("/run/docker.sock", RUNTIME_SOCKET, STARTS),
          path("/run/cri-dockerd.sock", RUNTIME_SOCKET, STARTS),
          path("/run/podman/podman.sock", RUNTIME_SOCKET, STARTS),
          path("/run/nri", RUNTIME_SOCKET, PLUGS_IN),
          path("/opt/nri/plugins", RUNTIME_CONFIG, PLUGS_IN),
          path("/etc/nri/conf.d", RUNTIME_CONFIG, PLUGS_IN),
          path("/etc/containerd", RUNTIME_CONFIG, CONFIGURES),
          path("/etc/nvidia-container-runtime", RUNTIME_CONFIG, CONFIGURES),
          path("/etc/cdi", CDI_SPECS, "CDI specs define what a CDI device contains"),
          path("/run/cdi", CDI_SPECS, "the same"),
          new GpuAccessPath(
              Kind.ANNOTATION,
              CDI_PREFIXES.getFirst() + "*",
              CDI_ANNOTATION,
              "the runtime adds the CDI devices that it names"),
          new GpuAccessPath(
              Kind.ANNOTATION,
              CDI_PREFIXES.getLast() + "*",
              CDI_ANNOTATION,
              "NVIDIA's runtime does so, as the GPU Operator configures it"),
          annotation("*devices.nri.io", "NRI's device injector adds the devices that it names"),
          annotation("*devices.nri.io/*", "the same, for one container"),
          annotation("mounts.nri.io", "it mounts paths of the node"),
          annotation("mounts.nri.io/*", "the same, for one container"),
          annotation("*devices.noderesource.dev", "the device injector by its newer name"),
          annotation("*devices.noderesource.dev/*", "the same, for one container"),
          annotation("mounts.noderesource.dev", "it mounts paths of the node"),
          annotation("mounts.noderesource.dev/*", "the same, for one container"),
          annotation("io.kubernetes.cri-o.Devices", "CRI-O adds the device files that it names"),
          annotation("devices.crio.io", "the same by its newer name"),
          annotation("devices.crio.io/*", "the same, for one container"));

  private static GpuAccessPath path(String place, Finding finding, String reason) {
    return new GpuAccessPath(Kind.PATH, place, finding, reason);
  }

  private static GpuAccessPath prefix(String place, Finding finding, String reason) {
    return new GpuAccessPath(Kind.PATH_PREFIX, place, finding, reason);
  }

  private static GpuAccessPath annotation(String key, String reason) {
    return new GpuAccessPath(Kind.ANNOTATION, key, DEVICE_ANNOTATION, reason);
  }

  /** Returns a pattern of the annotation keys of {@link Finding#DEVICE_ANNOTATION}. */
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
