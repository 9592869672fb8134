package dev.tranche.nodeplugin.health;

/** Whether a GPU may take new pods. */
public sealed interface Health {
  /** It may. */
  record Healthy() implements Health {}

  /** It answered no more; healthy again as soon as it answers. */
  record Lost(String reason) implements Health {}

  /** The driver reported an error that running on would make worse. */
  record Faulty(String reason) implements Health {}

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

  /** After a probe that NVML answered. An XID is not forgiven by it. */
  default Health answered() {
    return this instanceof Lost ? good() : this;
  }

  /** After a probe that found the GPU gone. */
  default Health gone(String reason) {
    return this instanceof Healthy ? new Lost(reason) : this;
  }

  /** After this XID. */
  default Health xid(long xid) {
    return this instanceof Faulty
        ? this
        : new Faulty(
            "the driver reported XID " + xid + "; see dmesg, then restart the node plugin");
  }
}
