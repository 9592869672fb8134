package dev.tranche.nodeplugin.mps;

/** What a node's plugin can do about GPUs that its config shares by MPS. */
public sealed interface MpsStanding {
  /** Nothing is shared by MPS. */
  record NotNeeded() implements MpsStanding {}

  /** The daemon may be about to start, so nothing changes yet. */
  record Awaited() implements MpsStanding {}

  /** There is none: the GPUs are advertised whole. */
  record Missing(String reason) implements MpsStanding {}

  /** It serves: replicas are advertised. */
  record Serving() implements MpsStanding {}

  /**
   * It has served and does no more: replicas are advertised as unhealthy, so that pods keep theirs.
   */
  record Lost(String reason) implements MpsStanding {}

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
