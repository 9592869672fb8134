package dev.tranche.nodeplugin.usage;

/** A pod by the names that Kubernetes gives it. */
public record PodName(String namespace, String name) {
  /** {@code namespace/pod}. */
  @Override
  public String toString() {
    return namespace + "/" + name;
  }
}
