package dev.tranche.nodeplugin.config;

/**
 * How each GPU is shared.
 *
 * @param replicas R, at least 1; 1: not shared
 * @param renameByDefault advertise {@code nvidia.com/gpu.shared}
 * @param failRequestsGreaterThanOne refuse containers that ask for more than one replica
 */
public record Sharing(int replicas, boolean renameByDefault, boolean failRequestsGreaterThanOne) {
  public static final Sharing NONE = new Sharing(1, false, false);

  public Sharing {
    if (replicas < 1) {
      throw new IllegalArgumentException("replicas must be at least 1, not " + replicas);
    }
  }

  public boolean shared() {
    return replicas > 1;
  }
}
