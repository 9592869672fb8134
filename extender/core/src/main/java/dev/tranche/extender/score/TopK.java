package dev.tranche.extender.score;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Selects the highest of many scores. */
public final class TopK {
  private TopK() {}

  /**
   * Returns the indexes of the highest scores, highest first.
   *
   * @param from where the search begins, so that equal scores do not always favor the same ones
   */
  public static List<Integer> of(int[] scores, int count, int from) {
    if (scores.length == 0 || count == 0) {
      return List.of();
    }
    int[] sorted = scores.clone();
    Arrays.sort(sorted);
    int least = sorted[Math.max(0, sorted.length - count)];
    var best = new ArrayList<Integer>(count);
    var equal = new ArrayList<Integer>(count);
    for (int k = 0; k < scores.length; k++) {
      int i = (from + k) % scores.length;
      if (scores[i] > least) {
        best.add(i);
      } else if (scores[i] == least && equal.size() < count) {
        equal.add(i);
      }
    }
    best.sort((a, b) -> Integer.compare(scores[b], scores[a]));
    best.addAll(equal.subList(0, Math.min(equal.size(), count - best.size())));
    return best;
  }
}
