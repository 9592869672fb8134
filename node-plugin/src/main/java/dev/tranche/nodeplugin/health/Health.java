package dev.tranche.nodeplugin.health;

/** Whether a GPU may take new pods. */
public sealed interface Health {
  /** It may. */
  record Healthy() implements Health {}

  /** It answers no more; healthy again as soon as it answers, since only a reset brings it back. */
  record Lost(String reason) implements Health {}

  /**
   * The driver reported an error that running on would make worse.
   *
   * @param sinceMs when it did last
   * @param resetNeeded no time heals it
   */
  record Faulty(String reason, long sinceMs, boolean resetNeeded) implements Health {}

  static Health good() {
    return new Healthy();
  }

  default boolean healthy() {
    return this instanceof Healthy;
  }

  /** Empty when healthy; else a sentence. */
  default String reason() {
    return switch (this) {
      case Healthy ignored -> "";
      case Lost lost -> lost.reason();
      case Faulty faulty -> faulty.reason();
    };
  }

  /** In one word, for a metric. */
  default String word() {
    return switch (this) {
      case Healthy ignored -> "healthy";
      case Lost ignored -> "lost";
      case Faulty ignored -> "faulty";
    };
  }

  /**
   * After a probe that NVML answered.
   *
   * @param quietMs for so long without another error a fault that needs no reset is over
   */
  default Health answered(long nowMs, long quietMs) {
    return switch (this) {
      case Healthy healthy -> healthy;
      case Lost ignored -> good();
      case Faulty faulty ->
          faulty.resetNeeded() || nowMs - faulty.sinceMs() < quietMs ? faulty : good();
    };
  }

  /** After a probe that found the GPU gone: whatever was wrong before, it must come back anew. */
  default Health gone(String reason) {
    return this instanceof Lost ? this : new Lost(reason);
  }

  /** After a probe that failed without the GPU being gone: a fault stays what it was. */
  default Health silent(String reason) {
    return this instanceof Healthy ? new Lost(reason) : this;
  }

  /** After an error; the quiet period begins anew. */
  default Health fault(Fault fault, long nowMs) {
    boolean already = this instanceof Faulty before && before.resetNeeded();
    if (this instanceof Faulty before && already && !fault.resetNeeded()) {
      return before;
    }
    return new Faulty(fault.sentence(), nowMs, fault.resetNeeded());
  }
}
