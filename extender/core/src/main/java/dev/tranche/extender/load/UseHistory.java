package dev.tranche.extender.load;

import dev.tranche.extender.load.UsageDistribution.Part;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Learns from the pods of a cluster what later pods are likely to use. It begins with a guess,
 * which a few dozen pods outweigh, and forgets slowly.
 */
public final class UseHistory {
  /** Upper bounds of the kinds of pods, in multiples of their share; the last kind has no bound. */
  private static final double[] UP_TO = {0.3, 0.7, 1.4, 2.8};

  /** The weight of the guess, in pods. */
  private static final double GUESSED = 20;

  /** Above this number of pods, all counts are halved. */
  private static final double REMEMBERED = 1_024;

  /** A pod that uses at least this much of a GPU might use more if there were more. */
  private static final double ALL = 0.9;

  /** The smallest change of the odds that is published; smaller changes add up first. */
  private static final double STEP = 0.02;

  private final double[] pods = new double[UP_TO.length + 1];
  private final double[] times = new double[pods.length];
  private UsageDistribution published = UsageDistribution.GUESS;

  public UseHistory() {
    for (Part part : UsageDistribution.GUESS.parts()) {
      count(kind(part.times()), part.times(), GUESSED * part.odds());
    }
  }

  /** Returns the odds: the same object until they have changed by more than a little. */
  public UsageDistribution odds() {
    return published;
  }

  /**
   * Adds a pod whose use is known after a long enough time.
   *
   * @param used of one GPU, 0 to 1
   * @param requested the requested share of one GPU, above 0
   * @param weight 1 for a pod on one GPU; for a pod on several GPUs, each counts as a part of 1
   */
  public void add(double used, double requested, double weight) {
    double ratio = used / requested;
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
    publish();
  }

  /**
   * Counts a pod whose use the GPU may limit. Its use without that limit is assumed to be like that
   * of pods known to use at least as much.
   */
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
    return Arrays.stream(pods, from, pods.length).sum();
  }

  private static int kind(double ratio) {
    int kind = 0;
    while (kind < UP_TO.length && ratio > UP_TO[kind]) {
      kind++;
    }
    return kind;
  }

  private void publish() {
    double all = sum(0);
    List<Part> parts = new ArrayList<>(pods.length);
    for (int i = 0; i < pods.length; i++) {
      parts.add(new Part(pods[i] > 0 ? times[i] / pods[i] : 0, pods[i] / all));
    }
    var now = new UsageDistribution(parts);
    published = differs(now, published) ? now : published;
  }

  private static boolean differs(UsageDistribution one, UsageDistribution other) {
    if (one.parts().size() != other.parts().size()) {
      return true;
    }
    for (int i = 0; i < one.parts().size(); i++) {
      Part a = one.parts().get(i);
      Part b = other.parts().get(i);
      if (Math.abs(a.odds() - b.odds()) > STEP
          || a.odds() * Math.abs(a.times() - b.times()) > STEP) {
        return true;
      }
    }
    return false;
  }
}
