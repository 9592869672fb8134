package dev.tranche.nodeplugin.usage;

/**
 * What one container uses of one GPU, by all of its processes there.
 *
 * @param smPercent 0 to 100, of the whole GPU
 */
public record ContainerUse(
    String namespace, String pod, String container, long memoryUsedBytes, double smPercent) {
  ContainerUse plus(ContainerUse other) {
    return with(memoryUsedBytes + other.memoryUsedBytes, smPercent + other.smPercent);
  }

  ContainerUse with(long memory, double sm) {
    return new ContainerUse(namespace, pod, container, memory, sm);
  }

  /** {@code namespace/pod}. */
  public String podKey() {
    return namespace + "/" + pod;
  }

  String key() {
    return podKey() + "/" + container;
  }
}
