package dev.tranche.webhook.guard;

import java.util.Locale;

/** A way in which a pod may reach GPUs that it was not given. */
public enum Finding {
  /**
   * NVIDIA_VISIBLE_DEVICES as text. The runtime trusts it, and it overrides the device plugin's.
   */
  ENV("remove it and request a share"),
  /** The variable from a field, ConfigMap or Secret, so its value is not known here. */
  ENV_VALUE_FROM("remove it and request a share"),
  /**
   * A pod that names NVIDIA's RuntimeClass and requests no GPU: a monitor, whose image names all
   * GPUs. It loses them, which nothing else would tell.
   */
  RUNTIME_CLASS("request a share otherwise"),
  /** All keys of a ConfigMap or Secret become variables; this variable may be among them. */
  ENV_FROM("give envFrom a prefix, or name the keys one by one in env"),
  /**
   * Limits of MPS that the pod sets itself. They override those that the plugin derives from its
   * share.
   */
  SHARE_LIMIT("remove it: the limit is derived from the share"),
  /** Annotations that request devices through the Container Device Interface (CDI). */
  CDI_ANNOTATION("remove it and request a share"),
  /** Annotations by which a plugin of the runtime adds devices. */
  DEVICE_ANNOTATION("remove it and request a share"),
  /** The runtime reads device names from the paths of mounts in this folder. */
  DEVICE_LIST_MOUNT("mount it elsewhere"),
  /** The node's device files. */
  HOST_DEVICES("remove the volume and request a share"),
  /** The kubelet's sockets for device plugins. Whoever can write there can register as one. */
  KUBELET_SOCKETS("remove the volume"),
  /** The container runtime's socket. Its clients can start containers with any device. */
  RUNTIME_SOCKET("remove the volume"),
  /** The folders of CDI specs. Whoever can write there decides what a device name stands for. */
  CDI_SPECS("remove the volume"),
  /** The configuration of the container runtime and its plugins. */
  RUNTIME_CONFIG("remove the volume"),
  /** The folder in which the MPS daemons accept clients. */
  MPS_CONTROL("remove the volume; Tranche mounts it for a share on an MPS node"),
  /** The node's processes, and by them its files. */
  HOST_PROCESSES("remove the volume, hostPID or the capability"),
  /** A privileged container, which can open all devices of the node. */
  PRIVILEGED("remove privileged");

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
