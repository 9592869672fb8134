package dev.tranche.nodeplugin.mps;

/**
 * Whether a control daemon serves the GPUs that the config shares by MPS, and what follows from it.
 */
public sealed interface MpsAvailability {
  /** Nothing is shared by MPS. */
  record NotNeeded() implements MpsAvailability {}

  /** The daemon may be about to start, so nothing changes yet. */
  record Awaited() implements MpsAvailability {}

  /** There is no daemon: the GPUs are advertised whole. */
  record Missing(String reason) implements MpsAvailability {}

  /** The daemon serves: replicas are advertised. */
  record Serving() implements MpsAvailability {}

  /**
   * The daemon no longer serves: replicas are advertised as unhealthy, so that pods keep theirs.
   */
  record Lost(String reason) implements MpsAvailability {}

  /** Empty when all is well; else a sentence. */
  default String reason() {
    return "";
  }
}
