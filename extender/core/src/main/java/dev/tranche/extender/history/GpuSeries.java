package dev.tranche.extender.history;

/**
 * The samples of one GPU: a ring with a slot for each step. Slots are numbered from the clock's
 * zero, so that all series agree on them. A stored zero is a gap.
 */
final class GpuSeries {
  /** One short for mean and highest SM load, one for memory, one for the granted share. */
  private static final int SHORTS_PER_SLOT = 3;

  static final int BYTES_PER_SLOT = SHORTS_PER_SLOT * Short.BYTES;

  /** SM load is stored to half a percent. */
  private static final int SM_PARTS = 200;

  /** Unit of stored memory; in 16 bits it reaches 1 TiB. */
  private static final long MEMORY_UNIT_BYTES = 16L << 20;

  private static final int GRANTED_PARTS = 10_000;

  final int index;
  private final int slots;

  /** One array, since the headers of four would be a quarter of a small ring. */
  private final short[] ring;

  private long last;

  /**
   * Consecutive slots as one. A value that is unknown in all of them is NaN, or -1 for memory.
   *
   * @param sm mean
   * @param smMax highest
   * @param memoryUsedBytes highest
   * @param granted mean
   */
  record Point(double sm, double smMax, long memoryUsedBytes, double granted) {}

  /**
   * @param first number of the slot that will be put first
   */
  GpuSeries(int index, int slots, long first) {
    this.index = index;
    this.slots = slots;
    ring = new short[slots * SHORTS_PER_SLOT];
    last = first - 1;
  }

  /** The slot that was put last. */
  long last() {
    return last;
  }

  /**
   * Stores a sample. A second sample of a slot is merged with the first; one of an earlier slot is
   * ignored.
   */
  void put(long slot, GpuSample sample) {
    if (slot < last) {
      return;
    }
    if (slot == last) {
      Point known = point(slot, 1);
      store(
          slot,
          mean(known.sm(), sample.sm()),
          max(known.smMax(), sample.sm()),
          Math.max(known.memoryUsedBytes(), sample.memoryUsedBytes()),
          mean(known.granted(), sample.granted()));
      return;
    }
    // Clear the skipped slots, where the ring still has older samples.
    for (long skipped = Math.max(last + 1, slot - slots + 1); skipped < slot; skipped++) {
      store(skipped, Double.NaN, Double.NaN, -1, Double.NaN);
    }
    store(slot, sample.sm(), sample.sm(), sample.memoryUsedBytes(), sample.granted());
    last = slot;
  }

  private static double mean(double a, double b) {
    return Double.isNaN(a) ? b : Double.isNaN(b) ? a : (a + b) / 2;
  }

  private static double max(double a, double b) {
    return Double.isNaN(a) ? b : Double.isNaN(b) ? a : Math.max(a, b);
  }

  private void store(long slot, double mean, double max, long memoryUsedBytes, double share) {
    int at = at(slot);
    ring[at] = (short) (stored(mean, SM_PARTS) | stored(max, SM_PARTS) << 8);
    ring[at + 1] = (short) (memoryUsedBytes < 0 ? 0 : 1 + units(memoryUsedBytes));
    ring[at + 2] = (short) stored(share, GRANTED_PARTS);
  }

  private int at(long slot) {
    return Math.floorMod(slot, slots) * SHORTS_PER_SLOT;
  }

  private static long units(long bytes) {
    return Math.min(0xfffe, (bytes + MEMORY_UNIT_BYTES / 2) / MEMORY_UNIT_BYTES);
  }

  private static int stored(double share, int parts) {
    return Double.isNaN(share) ? 0 : 1 + (int) Math.round(Math.clamp(share, 0, 1) * parts);
  }

  /**
   * @param count number of slots
   */
  Point point(long first, int count) {
    int smKnown = 0;
    int smSum = 0;
    int smHighest = 0;
    int memoryHighest = 0;
    int grantedKnown = 0;
    int grantedSum = 0;
    long end = Math.min(last, first + count - 1);
    for (long slot = Math.max(first, last - slots + 1); slot <= end; slot++) {
      int at = at(slot);
      int sm = ring[at] & 0xff;
      if (sm > 0) {
        smKnown++;
        smSum += sm - 1;
      }
      smHighest = Math.max(smHighest, ring[at] >> 8 & 0xff);
      memoryHighest = Math.max(memoryHighest, ring[at + 1] & 0xffff);
      int share = ring[at + 2] & 0xffff;
      if (share > 0) {
        grantedKnown++;
        grantedSum += share - 1;
      }
    }
    return new Point(
        smKnown == 0 ? Double.NaN : (double) smSum / smKnown / SM_PARTS,
        smHighest == 0 ? Double.NaN : (double) (smHighest - 1) / SM_PARTS,
        memoryHighest == 0 ? -1 : (memoryHighest - 1) * MEMORY_UNIT_BYTES,
        grantedKnown == 0 ? Double.NaN : (double) grantedSum / grantedKnown / GRANTED_PARTS);
  }

  /** Returns the samples with steps that are twice as long, over the same time. */
  GpuSeries halved() {
    long end = Math.floorDiv(last, 2);
    var half = new GpuSeries(index, Math.ceilDiv(slots, 2), end + 1);
    for (long slot = end - half.slots + 1; slot <= end; slot++) {
      Point both = point(slot * 2, 2);
      half.store(slot, both.sm(), both.smMax(), both.memoryUsedBytes(), both.granted());
    }
    return half;
  }

  /** Returns the first of these slots with a sample; {@code to + 1} if there is none. */
  long firstKnown(long from, long to) {
    long slot = Math.max(from, last - slots + 1);
    // Even a sample without a reading has a granted share.
    while (slot <= Math.min(to, last) && ring[at(slot) + 2] == 0) {
      slot++;
    }
    return slot <= last ? Math.min(slot, to + 1) : to + 1;
  }
}
