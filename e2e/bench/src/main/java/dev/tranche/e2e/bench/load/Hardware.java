package dev.tranche.e2e.bench.load;

/**
 * The GPUs of a contest.
 *
 * @param sharing how pods share a GPU
 * @param gpm which GPUs report how much of their hardware works
 */
public record Hardware(Sharing sharing, Gpm gpm) {
  /** GPUs before Hopper, which pods take in turns. */
  public static final Hardware DEFAULT = new Hardware(Sharing.TIME_SLICING, Gpm.NONE);

  /** How pods share a GPU. */
  public enum Sharing {
    /** They take turns, each with all of the GPU. */
    TIME_SLICING,
    /** They run at the same time. */
    MPS
  }

  /** Which GPUs report how much of their hardware works. */
  public enum Gpm {
    NONE,
    /** Those of every second node. */
    HALF,
    ALL;

    boolean has(int node) {
      return this == ALL || (this == HALF && node % 2 == 0);
    }
  }
}
