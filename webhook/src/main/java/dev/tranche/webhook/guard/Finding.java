package dev.tranche.webhook.guard;

import java.util.Locale;

/** A way in which a pod may reach GPUs that it was not given. */
public enum Finding {
  /** The variable as text. The runtime believes it, and it beats the device plugin's. */
  ENV("take it away and ask for a share"),
  /** The variable from a field, ConfigMap or Secret: what it says is not known here. */
  ENV_VALUE_FROM("take it away and ask for a share"),
  /** All keys of a ConfigMap or Secret become variables: that one may be among them. */
  ENV_FROM("give envFrom a prefix, or name the keys one by one in env"),
  /** Limits of MPS that the pod sets itself: they beat those that the plugin makes of its share. */
  MPS_LIMIT("take it away: the limit follows from the share"),
  /** Annotations that ask a runtime for devices by the Container Device Interface. */
  CDI_ANNOTATION("take it away and ask for a share"),
  /** Annotations by which a plugin of the runtime adds devices. */
  DEVICE_ANNOTATION("take it away and ask for a share"),
  /** The runtime reads device names from the paths of mounts in this folder. */
  DEVICE_LIST_MOUNT("mount it elsewhere"),
  /** The node's device files. */
  HOST_DEVICES("take the volume away and ask for a share"),
  /** The kubelet's sockets for device plugins: whoever writes there can be one. */
  KUBELET_SOCKETS("take the volume away"),
  /** The container runtime's socket: whoever speaks there starts containers with any device. */
  RUNTIME_SOCKET("take the volume away"),
  /** Where CDI specs lie: whoever writes there says what a device's name stands for. */
  CDI_SPECS("take the volume away"),
  /** What the container runtime and its plugins are told to do. */
  RUNTIME_CONFIG("take the volume away"),
  /** Where the MPS daemons take clients. */
  MPS_CONTROL("take the volume away; a share of an MPS node brings its own"),
  /** The node's processes, and by them its files. */
  HOST_PROCESSES("take the volume, hostPID or the capability away"),
  /** All devices of the node are open to it. */
  PRIVILEGED("drop privileged");

  private final String remedy;

  Finding(String remedy) {
    this.remedy = remedy;
  }

  /** What the user may do instead, an imperative. */
  String remedy() {
    return remedy;
  }

  /** As metrics and audit records spell it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
