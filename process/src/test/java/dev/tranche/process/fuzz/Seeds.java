package dev.tranche.process.fuzz;

import java.io.IOException;
import java.time.LocalDate;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.LongStream;

/**
 * The seeds of a random search: one half is the same in every commit, the other is drawn from the
 * commit's hash. {@code -Dtranche.seed=N} runs seed N alone, and {@code -Dtranche.search=10} ten
 * times as many, with other fresh ones each day.
 */
public final class Seeds {
  private static final String COMMIT = commit();

  private Seeds() {}

  /**
   * @param count how many run at each commit
   * @param known seeds that have found bugs, which are the first of the fixed half
   */
  public static long[] of(int count, long... known) {
    Long only = Long.getLong("tranche.seed");
    if (only != null) {
      return new long[] {only};
    }
    int times = Integer.getInteger("tranche.search", 1);
    int all = count * times;
    long day = times > 1 ? LocalDate.now().toEpochDay() : 0;
    LongStream fixed = LongStream.concat(LongStream.of(known), LongStream.rangeClosed(1, all));
    LongStream fresh =
        new SplittableRandom(Long.parseUnsignedLong(COMMIT, 16) + day)
            .longs(all, 1, Integer.MAX_VALUE);
    System.out.printf("%d seeds, half of them of commit %s, day %d%n", all, COMMIT, day);
    return LongStream.concat(fixed.distinct().limit(all / 2), fresh)
        .distinct()
        .limit(all)
        .toArray();
  }

  public static RandomGenerator random(long seed) {
    return RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
  }

  /** The first 16 digits of its hash, or 0 where there is no git. */
  private static String commit() {
    try {
      Process git = new ProcessBuilder("git", "rev-parse", "HEAD").start();
      String hash = new String(git.getInputStream().readAllBytes());
      return hash.length() < 40 ? "0" : hash.substring(0, 16);
    } catch (IOException noGit) {
      return "0";
    }
  }
}
