package dev.tranche.nodeplugin.health;

/** Whether a GPU may take new pods. */
public sealed interface Health {
  /** The GPU may take new pods. */
  record Healthy() implements Health {}

  /**
   * The GPU no longer answers. It is healthy as soon as it answers, since only a reset brings it
   * back.
   */
  record Lost(String reason) implements Health {}

  /**
   * The driver reported an error that running on would make worse.
   *
   * @param sinceMs time of the last error
   * @param resetNeeded whether the fault stays until a reset
   */
  record Faulty(String reason, long sinceMs, boolean resetNeeded) implements Health {}

  default boolean healthy() {
    return this instanceof Healthy;
  }

  /** Returns whether the GPU answered when it was last read. */
  default boolean answers() {
    return !(this instanceof Lost);
  }

  /** Empty when healthy; else a sentence. */
  default String reason() {
    return "";
  }

  /** In one word, for a metric. */
  default String metricLabel() {
    return switch (this) {
      case Healthy ignored -> "healthy";
      case Lost ignored -> "lost";
      case Faulty ignored -> "faulty";
    };
  }

  /**
   * Returns the health after a probe that NVML answered.
   *
   * @param quietMs time without another error after which a fault that needs no reset is over
   */
  default Health afterAnswer(long nowMs, long quietMs) {
    return switch (this) {
      case Healthy healthy -> healthy;
      case Lost ignored -> new Healthy();
      case Faulty faulty ->
          faulty.resetNeeded() || nowMs - faulty.sinceMs() < quietMs ? faulty : new Healthy();
    };
  }

  /**
   * Returns the health after a probe that found the GPU gone. This replaces any fault, since the
   * GPU must come back first.
   */
  default Health afterLoss(String reason) {
    return this instanceof Lost ? this : new Lost(reason);
  }

  /** Returns the health after a failed probe that does not show a lost GPU; a fault stays. */
  default Health afterFailedProbe(String reason) {
    return this instanceof Healthy ? new Lost(reason) : this;
  }

  /** Returns the health after an error; the quiet period begins again. */
  default Health afterFault(Fault fault, long nowMs) {
    if (this instanceof Faulty before && before.resetNeeded() && !fault.resetNeeded()) {
      return before;
    }
    return new Faulty(fault.sentence(), nowMs, fault.resetNeeded());
  }
}
