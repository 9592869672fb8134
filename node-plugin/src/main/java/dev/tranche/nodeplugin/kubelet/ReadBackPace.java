package dev.tranche.nodeplugin.kubelet;

/**
 * Decides at which periodic beats to read back: at each, or at one in five while nobody holds
 * replicas. Only an Allocate can change that, and a read follows each Allocate soon. Confined to
 * one thread.
 */
final class ReadBackPace {
  static final int IDLE_BEATS = 5;

  private int emptyLists;
  private int beats;

  /**
   * Returns whether to read at this beat.
   *
   * @param registered whether every Allocate call reaches this plugin
   */
  boolean beat(boolean registered) {
    beats++;
    boolean idle = emptyLists >= IDLE_BEATS && registered;
    return !idle || beats % IDLE_BEATS == 0;
  }

  /** Records a List, and whether anybody holds replicas or is about to. */
  void listed(boolean anyHolders) {
    emptyLists = anyHolders ? 0 : emptyLists + 1;
  }

  /** Reads at every beat again, since what earlier Lists showed may have changed. */
  void readMoreOften() {
    emptyLists = 0;
  }
}
