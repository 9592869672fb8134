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
          of(Kind.PATH_PREFIX, "/dev/nvidia", HOST_DEVICES, "the GPUs' device files"),
          of(Kind.PATH, "/dev/char", HOST_DEVICES, "the same by their numbers"),
          of(Kind.PATH, "/dev/dri", HOST_DEVICES, "the GPUs as graphics cards"),
          of(Kind.PATH, "/dev/vfio", HOST_DEVICES, "GPUs that are passed through to machines"),
          of(Kind.PATH, "/dev/dxg", HOST_DEVICES, "the GPUs under WSL"),
          of(
              Kind.PATH,
              "/run/nvidia/driver/dev",
              HOST_DEVICES,
              "device files of a driver in a container"),
          of(
              Kind.PATH,
              "/run/nvidia/mps",
              MPS_CONTROL,
              "the MPS daemons: their clients run on the GPU"),
          of(
              Kind.FOLDER,
              "/proc",
              HOST_PROCESSES,
              "by /proc/PID/root, the node's whole file system"),
          of(Kind.PATH, "/var/lib/kubelet/device-plugins", KUBELET_SOCKETS, REGISTERS),
          of(Kind.PATH, "/var/lib/kubelet/pod-resources", KUBELET_SOCKETS, REGISTERS),
          of(Kind.PATH, "/var/lib/kubelet/plugins_registry", KUBELET_SOCKETS, REGISTERS),
          of(Kind.PATH_PREFIX, "/run/containerd/containerd.sock", RUNTIME_SOCKET, STARTS),
          of(
              Kind.PATH,
              "/run/containerd/s",
              RUNTIME_SOCKET,
              "the shims' sockets: the same for one pod"),
          of(Kind.PATH_PREFIX, "/run/k3s/containerd/containerd.sock", RUNTIME_SOCKET, STARTS),
          of(Kind.PATH_PREFIX, "/run/k0s/containerd.sock", RUNTIME_SOCKET, STARTS),
          of(Kind.PATH_PREFIX, "/run/docker/containerd/containerd.sock", RUNTIME_SOCKET, STARTS),
          of(
              Kind.PATH_PREFIX,
              "/var/snap/microk8s/common/run/containerd.sock",
              RUNTIME_SOCKET,
              STARTS),
          of(Kind.PATH, "/run/crio/crio.sock", RUNTIME_SOCKET, STARTS),
          of(Kind.PATH, "/run/docker.sock", RUNTIME_SOCKET, STARTS),
          of(Kind.PATH, "/run/cri-dockerd.sock", RUNTIME_SOCKET, STARTS),
          of(Kind.PATH, "/run/podman/podman.sock", RUNTIME_SOCKET, STARTS),
          of(Kind.PATH, "/run/nri", RUNTIME_SOCKET, PLUGS_IN),
          of(Kind.PATH, "/opt/nri/plugins", RUNTIME_CONFIG, PLUGS_IN),
          of(Kind.PATH, "/etc/nri/conf.d", RUNTIME_CONFIG, PLUGS_IN),
          of(Kind.PATH, "/etc/containerd", RUNTIME_CONFIG, CONFIGURES),
          of(Kind.PATH, "/etc/nvidia-container-runtime", RUNTIME_CONFIG, CONFIGURES),
          of(Kind.PATH, "/etc/cdi", CDI_SPECS, "whoever writes there says what a CDI device is"),
          of(Kind.PATH, "/run/cdi", CDI_SPECS, "the same"),
          of(
              Kind.ANNOTATION,
              CDI_PREFIX + "*",
              CDI_ANNOTATION,
              "the runtime adds the CDI devices that it names"),
          of(
              Kind.ANNOTATION,
              "*devices.nri.io",
              DEVICE_ANNOTATION,
              "NRI's device injector adds the devices that it names"),
          of(
              Kind.ANNOTATION,
              "*devices.nri.io/*",
              DEVICE_ANNOTATION,
              "the same, for one container"),
          of(Kind.ANNOTATION, "mounts.nri.io", DEVICE_ANNOTATION, "it mounts paths of the node"),
          of(Kind.ANNOTATION, "mounts.nri.io/*", DEVICE_ANNOTATION, "the same, for one container"),
          of(
              Kind.ANNOTATION,
              "*devices.noderesource.dev",
              DEVICE_ANNOTATION,
              "the device injector by its newer name"),
          of(
              Kind.ANNOTATION,
              "*devices.noderesource.dev/*",
              DEVICE_ANNOTATION,
              "the same, for one container"),
          of(
              Kind.ANNOTATION,
              "mounts.noderesource.dev",
              DEVICE_ANNOTATION,
              "it mounts paths of the node"),
          of(
              Kind.ANNOTATION,
              "mounts.noderesource.dev/*",
              DEVICE_ANNOTATION,
              "the same, for one container"),
          of(
              Kind.ANNOTATION,
              "io.kubernetes.cri-o.Devices",
              DEVICE_ANNOTATION,
              "CRI-O adds the device files that it names"));

  private static GpuAccess of(Kind kind, String place, Finding finding, String reason) {
    return new GpuAccess(kind, place, finding, reason);
  }

  static List<GpuAccess> annotations() {
    return ALL.stream().filter(access -> access.kind == Kind.ANNOTATION).toList();
  }

  /** What a review has in it that names such an annotation. */
  static List<String> annotationWords() {
    return annotations().stream().map(access -> access.place.replace("*", "")).distinct().toList();
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

  /** Whether this is the key of such an annotation. */
  boolean names(String key) {
    if (kind != Kind.ANNOTATION) {
      return false;
    }
    int star = place.indexOf('*');
    if (star < 0) {
      return key.equals(place);
    }
    if (star > 0) {
      return key.startsWith(place.substring(0, star));
    }
    // A domain, at the end or before the name.
    return place.endsWith("/*")
        ? key.contains(place.substring(1, place.length() - 1))
        : key.endsWith(place.substring(1));
  }
}
