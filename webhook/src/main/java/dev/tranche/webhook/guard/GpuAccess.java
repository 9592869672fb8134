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
 * Places of a node and annotations of a pod that lead to GPUs, or to those who hand GPUs out. This
 * is the one list: the guard judges by it, and docs/guard.md shows it.
 *
 * @param place a path; or the key of an annotation, in which {@code *} stands for any text
 * @param reason what whoever has it can do, a clause
 */
record GpuAccess(Kind kind, String place, Finding finding, String reason) {
  enum Kind {
    /** A folder or file: the place itself, all in it, and the folders that hold it. */
    PATH,
    /** All paths that begin so. */
    PATH_PREFIX,
    /** The place itself and the folders that hold it, but not what is in it. */
    FOLDER,
    ANNOTATION
  }

  /** Of CDI, where the plugin's configuration names no other. */
  static final String CDI_PREFIX = "cdi.k8s.io/";

  /** In the kubelet's folder, wherever that lies. */
  static final List<String> KUBELET_FOLDERS =
      List.of("device-plugins", "pod-resources", "plugins_registry");

  private static final String REGISTERS =
      "whoever writes there registers as a device plugin or CSI driver, or reads who has which GPU";
  private static final String STARTS = "whoever speaks there starts containers with any device";
  private static final String CONFIGURES = "whoever writes there says what containers are given";
  private static final String PLUGS_IN =
      "an NRI plugin adds devices and variables to any container";

  static final List<GpuAccess> ALL =
      List.of(
          prefix("/dev/nvidia", HOST_DEVICES, "the GPUs' device files"),
          path("/dev/char", HOST_DEVICES, "the same by their numbers"),
          path("/dev/dri", HOST_DEVICES, "the GPUs as graphics cards"),
          path("/dev/vfio", HOST_DEVICES, "GPUs that are passed through to machines"),
          path("/dev/dxg", HOST_DEVICES, "the GPUs under WSL"),
          path("/run/nvidia/driver/dev", HOST_DEVICES, "device files of a driver in a container"),
          path("/run/nvidia/mps", MPS_CONTROL, "the MPS daemons: their clients run on the GPU"),
          new GpuAccess(
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
          path("/etc/cdi", CDI_SPECS, "whoever writes there says what a CDI device is"),
          path("/run/cdi", CDI_SPECS, "the same"),
          new GpuAccess(
              Kind.ANNOTATION,
              CDI_PREFIX + "*",
              CDI_ANNOTATION,
              "the runtime adds the CDI devices that it names"),
          annotation("*devices.nri.io", "NRI's device injector adds the devices that it names"),
          annotation("*devices.nri.io/*", "the same, for one container"),
          annotation("mounts.nri.io", "it mounts paths of the node"),
          annotation("mounts.nri.io/*", "the same, for one container"),
          annotation("*devices.noderesource.dev", "the device injector by its newer name"),
          annotation("*devices.noderesource.dev/*", "the same, for one container"),
          annotation("mounts.noderesource.dev", "it mounts paths of the node"),
          annotation("mounts.noderesource.dev/*", "the same, for one container"),
          annotation("io.kubernetes.cri-o.Devices", "CRI-O adds the device files that it names"));

  private static GpuAccess path(String place, Finding finding, String reason) {
    return new GpuAccess(Kind.PATH, place, finding, reason);
  }

  private static GpuAccess prefix(String place, Finding finding, String reason) {
    return new GpuAccess(Kind.PATH_PREFIX, place, finding, reason);
  }

  private static GpuAccess annotation(String key, String reason) {
    return new GpuAccess(Kind.ANNOTATION, key, DEVICE_ANNOTATION, reason);
  }

  /** The keys of the annotations of {@link Finding#DEVICE_ANNOTATION}. */
  static Pattern deviceAnnotations() {
    return Pattern.compile(
        ALL.stream()
            .filter(access -> access.finding == DEVICE_ANNOTATION)
            .map(access -> access.place.replace(".", "\\.").replace("*", ".*"))
            .collect(Collectors.joining("|")),
        Pattern.DOTALL);
  }

  /** What a review has in it that names such an annotation. */
  static List<String> annotationWords() {
    return ALL.stream()
        .filter(access -> access.kind == Kind.ANNOTATION)
        .map(access -> access.place.replace("*", ""))
        .distinct()
        .toList();
  }

  /** Whether a path leads there, {@link HostPaths#plain} and without a link. */
  boolean leadsFrom(String path) {
    return switch (kind) {
      case PATH -> HostPaths.at(path, place) || holds(path);
      case PATH_PREFIX -> path.startsWith(place) || holds(path);
      case FOLDER -> path.equals(place) || holds(path);
      case ANNOTATION -> false;
    };
  }

  private boolean holds(String path) {
    return path.equals("/")
        || (place.length() > path.length()
            && place.startsWith(path)
            && place.charAt(path.length()) == '/');
  }
}
