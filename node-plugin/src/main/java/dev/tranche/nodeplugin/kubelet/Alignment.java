package dev.tranche.nodeplugin.kubelet;

import dev.tranche.nodeplugin.gpu.GpuLinkScores;
import java.util.Collection;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Chooses whole GPUs that are closely linked, by NVIDIA's best-effort policy. It divides all
 * available GPUs into sets of the requested size, so that the sum of the sets' points is highest.
 * The best set of that division is the answer. So a container does not take one half of each of two
 * good pairs.
 *
 * <p>NVIDIA's implementation tries every division, of which sixteen GPUs have millions. This one
 * divides each remainder of GPUs once and caches the result. Sets are bit masks over the available
 * GPUs.
 */
final class Alignment {
  /** With more GPUs, which no machine has, there are too many divisions: the first ones do. */
  private static final int EXACT_MAX = 16;

  private final List<String> uuids;
  private final int size;
  private final int required;
  private final int padding;
  // Indexed by set: its points, and its best division once that is known.
  private final int[] points;
  private final @Nullable Division[] known;

  /**
   * @param set the first set of the division
   * @param points sum over all its sets
   */
  private record Division(int set, int points) {}

  private static final Division NOTHING_LEFT = new Division(0, 0);

  private Alignment(
      List<String> uuids, Collection<String> mustInclude, int size, GpuLinkScores linkScores) {
    this.uuids = uuids;
    this.size = size;
    this.required = maskOf(mustInclude);
    this.padding = (size - uuids.size() % size) % size;
    this.points = new int[1 << uuids.size()];
    this.known = new Division[1 << uuids.size()];
    for (int set = 1; set < points.length; set++) {
      int rest = set & (set - 1);
      points[set] = points[rest] + points(Integer.numberOfTrailingZeros(set), rest, linkScores);
    }
  }

  private int maskOf(Collection<String> some) {
    return IntStream.range(0, uuids.size())
        .filter(i -> some.contains(uuids.get(i)))
        .map(i -> 1 << i)
        .sum();
  }

  private int points(int gpu, int others, GpuLinkScores linkScores) {
    int sum = 0;
    for (int rest = others; rest != 0; rest &= rest - 1) {
      sum += linkScores.between(uuids.get(gpu), uuids.get(Integer.numberOfTrailingZeros(rest)));
    }
    return sum;
  }

  /**
   * Chooses the GPUs.
   *
   * @param available uuids, including those in {@code mustInclude}, in NVML's order, which breaks
   *     ties
   * @return as many uuids as requested, or none if there are too few
   */
  static List<String> choose(
      List<String> available, Collection<String> mustInclude, int size, GpuLinkScores linkScores) {
    if (size <= 0
        || size > available.size()
        || mustInclude.size() > size
        || !available.containsAll(mustInclude)) {
      return List.of();
    }
    return available.size() <= EXACT_MAX
        ? new Alignment(available, mustInclude, size, linkScores).best()
        : Stream.concat(mustInclude.stream(), available.stream()).distinct().limit(size).toList();
  }

  private List<String> best() {
    if (size == 1) {
      return uuidsOf(required == 0 ? 1 : required);
    }
    int rest = (1 << uuids.size()) - 1;
    int best = 0;
    int bestPoints = -1;
    while (rest != 0) {
      int set = divide(rest).set();
      if (mayBeTheAnswer(set) && points[set] > bestPoints) {
        best = set;
        bestPoints = points[set];
      }
      rest &= ~set;
    }
    return uuidsOf(best);
  }

  private boolean mayBeTheAnswer(int set) {
    return Integer.bitCount(set) == size && (set & required) == required;
  }

  /** Returns the best division of the rest; of equal ones, the first that is found. */
  private Division divide(int rest) {
    if (rest == 0) {
      return NOTHING_LEFT;
    }
    Division cached = known[rest];
    if (cached != null) {
      return cached;
    }
    int first = Integer.lowestOneBit(rest);
    Division best = search(rest, first, first, new Division(0, -1));
    known[rest] = best;
    return best;
  }

  /**
   * Completes the set in every possible way, adding GPUs in order, and returns the best division.
   */
  private Division search(int rest, int set, int last, Division best) {
    if (Integer.bitCount(set) == size) {
      return better(rest, set, best);
    }
    Division now = best;
    for (int gpu = last << 1; gpu <= rest && gpu != 0; gpu <<= 1) {
      if ((rest & gpu) != 0) {
        now = search(rest, set | gpu, gpu, now);
      }
    }
    // One set is smaller, if the GPUs do not divide evenly.
    boolean remainder =
        Integer.bitCount(set) == size - padding && Integer.bitCount(rest) % size != 0;
    return remainder ? better(rest, set, now) : now;
  }

  private Division better(int rest, int set, Division best) {
    boolean splitsRequired = (set & required) != 0 && !mayBeTheAnswer(set);
    if (splitsRequired) {
      return best;
    }
    Division others = divide(rest & ~set);
    int sum = points[set] + others.points();
    return others.points() >= 0 && sum > best.points() ? new Division(set, sum) : best;
  }

  private List<String> uuidsOf(int set) {
    return IntStream.range(0, uuids.size())
        .filter(i -> (set >> i & 1) != 0)
        .mapToObj(uuids::get)
        .toList();
  }
}
