package dev.tranche.simulate;

import java.util.SplittableRandom;

/**
 * The one source of chance. Each part draws from a stream of its own, so that a run without one
 * fault draws the same numbers elsewhere.
 */
record Randoms(long seed) {
  private static final long ODD = 0x9E3779B97F4A7C15L;

  SplittableRandom of(String part) {
    long mixed = seed;
    for (int i = 0; i < part.length(); i++) {
      mixed = (mixed ^ part.charAt(i)) * ODD;
      mixed ^= mixed >>> 32;
    }
    return new SplittableRandom(mixed);
  }
}
