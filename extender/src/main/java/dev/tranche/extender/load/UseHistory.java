package dev.tranche.extender.load;

import java.util.ArrayList;
import java.util.List;

/**
 * Learns from the pods of a cluster what those that come next are likely to use. It begins with a
 * guess, which a few dozen pods outweigh, and forgets slowly.
 */
public final class UseHistory {
  /** Kinds of pods, by how many times their share they use at most; the last one has no bound. */
  private static final double[] UP_TO = {0.3, 0.7, 1.4, 2.8};

  /** The guess counts as so many pods. */
  private static final double GUESSED = 20;

  /** From so many on, half of what was counted is forgotten. */
  private static final double REMEMBERED = 1_024;

  /** Who uses so much of a GPU might use more, if there were more of it. */
  private static final double ALL = 0.9;

  /** Others are told of smaller differences in the odds only when they have added up. */
  private static final double STEP = 0.02;

  private final double[] pods = new double[UP_TO.length + 1];
  private final double[] times = new double[pods.length];
  private UsageDistribution told = UsageDistribution.GUESS;

  public UseHistory() {
    for (UsageDistribution.Part part : UsageDistribution.GUESS.parts()) {
      count(kind(part.times()), part.times(), GUESSED * part.odds());
    }
  }

  /** The same object for as long as nothing much has changed. */
  public UsageDistribution odds() {
    return told;
  }

  /**
   * A pod is known for long enough.
   *
   * @param used of one GPU, 0 to 1
   * @param asked likewise, above 0
   * @param weight of one pod; of a pod on several GPUs each is a part
   */
  public void add(double used, double asked, double weight) {
    double ratio = used / asked;
    int least = kind(ratio);
    if (used < ALL) {
      count(least, ratio, weight);
    } else {
      countAtLeast(least, ratio, weight);
    }
    if (sum(0) > REMEMBERED) {
      for (int i = 0; i < pods.length; i++) {
        pods[i] /= 2;
        times[i] /= 2;
      }
    }
    tell();
  }

  /** What it would use with more GPUs is as with those of whom it is known. */
  private void countAtLeast(int least, double ratio, double weight) {
    double all = sum(least);
    double[] parts = new double[pods.length];
    for (int i = least; i < pods.length; i++) {
      parts[i] = all > 0 ? pods[i] / all : i == least ? 1 : 0;
    }
    for (int i = least; i < pods.length; i++) {
      count(i, pods[i] > 0 ? Math.max(ratio, times[i] / pods[i]) : ratio, weight * parts[i]);
    }
  }

  private void count(int kind, double ratio, double weight) {
    pods[kind] += weight;
    times[kind] += weight * ratio;
  }

  private double sum(int from) {
    double sum = 0;
    for (int i = from; i < pods.length; i++) {
      sum += pods[i];
    }
    return sum;
  }

  private static int kind(double ratio) {
    int kind = 0;
    while (kind < UP_TO.length && ratio > UP_TO[kind]) {
      kind++;
    }
    return kind;
  }

  private void tell() {
    double all = sum(0);
    List<UsageDistribution.Part> parts = new ArrayList<>(pods.length);
    for (int i = 0; i < pods.length; i++) {
      parts.add(new UsageDistribution.Part(pods[i] > 0 ? times[i] / pods[i] : 0, pods[i] / all));
    }
    var now = new UsageDistribution(parts);
    told = differs(now, told) ? now : told;
  }

  private static boolean differs(UsageDistribution one, UsageDistribution other) {
    if (one.parts().size() != other.parts().size()) {
      return true;
    }
    for (int i = 0; i < one.parts().size(); i++) {
      UsageDistribution.Part a = one.parts().get(i);
      UsageDistribution.Part b = other.parts().get(i);
      if (Math.abs(a.odds() - b.odds()) > STEP
          || a.odds() * Math.abs(a.times() - b.times()) > STEP) {
        return true;
      }
    }
    return false;
  }
}
