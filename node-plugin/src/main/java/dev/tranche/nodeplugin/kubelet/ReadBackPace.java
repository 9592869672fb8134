package dev.tranche.nodeplugin.kubelet;

/**
 * When to read back though nobody has asked for it: at every beat, and at one in five once nobody
 * holds anything, for then only an Allocate changes that, after which it is read at once. Confined
 * to one thread.
 */
final class ReadBackPace {
  static final int IDLE_BEATS = 5;

  private int emptyLists;
  private int beats;

  /**
   * Whether to read at this beat.
   *
   * @param registered whether every Allocate comes to us
   */
  boolean beat(boolean registered) {
    beats++;
    boolean idle = emptyLists >= IDLE_BEATS && registered;
    return !idle || beats % IDLE_BEATS == 0;
  }

  /** A List has come, which shows something or nothing. */
  void listed(boolean anything) {
    emptyLists = anything ? 0 : emptyLists + 1;
  }

  /** What earlier Lists have shown may hold no longer. */
  void disturbed() {
    emptyLists = 0;
  }
}
