package dev.tranche.extender.readapi.row;

/** Amounts as Kubernetes writes them. */
public final class Quantities {
  private static final String[] SUFFIXES = {"", "Ki", "Mi", "Gi", "Ti"};
  private static final long STEP = 1_024;
  private static final long MILLI = 1_000;

  private Quantities() {}

  /** Writes bytes exactly: {@code 10Gi}, or {@code 10737418241} where no suffix is exact. */
  static String bytes(long bytes) {
    long amount = bytes;
    int suffix = 0;
    while (amount != 0 && amount % STEP == 0 && suffix < SUFFIXES.length - 1) {
      amount /= STEP;
      suffix++;
    }
    return amount + SUFFIXES[suffix];
  }

  /** Writes GPUs, or parts of one, to the thousandth: {@code 2}, {@code 300m}. */
  static String gpus(double gpus) {
    long milli = Math.round(gpus * MILLI);
    return milli % MILLI == 0 ? Long.toString(milli / MILLI) : milli + "m";
  }
}
