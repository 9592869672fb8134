package dev.tranche.nodeplugin.usage;

import dev.tranche.api.node.Holding;

/** A container by the names that Kubernetes gives it. */
public record ContainerName(PodName pod, String name) {
  public ContainerName(String namespace, String pod, String name) {
    this(new PodName(namespace, pod), name);
  }

  /** Returns who has the devices. */
  public static ContainerName of(Holding holding) {
    return new ContainerName(holding.getNamespace(), holding.getPod(), holding.getContainer());
  }

  /** {@code namespace/pod/container}. */
  @Override
  public String toString() {
    return pod + "/" + name;
  }
}
