package dev.tranche.nodeplugin.mps;

/** What a node's plugin can do about GPUs that its config shares by MPS. */
public sealed interface MpsAvailability {
  /** Nothing is shared by MPS. */
  record NotNeeded() implements MpsAvailability {}

  /** The daemon may be about to start, so nothing changes yet. */
  record Awaited() implements MpsAvailability {}

  /** There is none: the GPUs are advertised whole. */
  record Missing(String reason) implements MpsAvailability {}

  /** It serves: replicas are advertised. */
  record Serving() implements MpsAvailability {}

  /**
   * It has served and does no more: replicas are advertised as unhealthy, so that pods keep theirs.
   */
  record Lost(String reason) implements MpsAvailability {}

  /** Empty when all is well; else a sentence. */
  default String reason() {
    return switch (this) {
      case Missing missing -> missing.reason();
      case Lost lost -> lost.reason();
      case NotNeeded ignored -> "";
      case Awaited ignored -> "";
      case Serving ignored -> "";
    };
  }
}
