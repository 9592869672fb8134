package dev.tranche.webhook.guard;

import java.util.Locale;

/** A way in which a pod may reach GPUs that it was not given. */
public enum GuardFinding {
  /**
   * NVIDIA_VISIBLE_DEVICES as text. The runtime trusts it, and it overrides the device plugin's.
   */
  ENV,
  /** The variable from a field, ConfigMap or Secret, so its value is not known here. */
  ENV_VALUE_FROM,
  /**
   * A pod that names NVIDIA's RuntimeClass and requests no GPU: a monitor, whose image names all
   * GPUs. It loses them, which nothing else would tell.
   */
  RUNTIME_CLASS,
  /** All keys of a ConfigMap or Secret become variables; this variable may be among them. */
  ENV_FROM,
  /**
   * Limits of MPS that the pod sets itself. They override those that the plugin derives from its
   * share.
   */
  SHARE_LIMIT,
  /** Annotations that request devices through the Container Device Interface (CDI). */
  CDI_ANNOTATION,
  /** Annotations by which a plugin of the runtime adds devices. */
  DEVICE_ANNOTATION,
  /** The runtime reads device names from the paths of mounts in this folder. */
  DEVICE_LIST_MOUNT,
  /** The node's device files. */
  HOST_DEVICES,
  /** The kubelet's sockets for device plugins. Whoever can write there can register as one. */
  KUBELET_SOCKETS,
  /** The container runtime's socket. Its clients can start containers with any device. */
  RUNTIME_SOCKET,
  /** The folders of CDI specs. Whoever can write there decides what a device name stands for. */
  CDI_SPECS,
  /** The configuration of the container runtime and its plugins. */
  RUNTIME_CONFIG,
  /** The folder in which the MPS daemons accept clients. */
  MPS_CONTROL,
  /** The node's processes, and by them its files. */
  HOST_PROCESSES,
  /** A privileged container, which can open all devices of the node. */
  PRIVILEGED;

  /** As metrics and audit records spell it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
