package dev.tranche.extender.score.packing;

import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * How often each shape was seen; later pods are likely to be alike. Pods without GPUs are left out.
 */
final class Shapes {
  /** Limit of shapes; the frequencies of more would hardly differ anyway. */
  static final int SHAPES_MAX = 512;

  /** Once this many pods are counted, all counts are halved, so that the mix of pods may change. */
  static final int PODS_MAX = 20_000;

  private final Map<Shape, Integer> counts = new LinkedHashMap<>();
  private final Set<String> counted = new LinkedHashSet<>();
  private int total;

  /** Counts a pod once, however often it comes; returns whether it was new. */
  boolean count(String uid, Shape shape) {
    if (shape.count() == 0 || !counted.add(uid)) {
      return false;
    }
    if (counted.size() > PODS_MAX) {
      counted.remove(counted.iterator().next());
    }
    if (total >= PODS_MAX) {
      counts.replaceAll((known, count) -> (count + 1) / 2);
      total = counts.values().stream().mapToInt(Integer::intValue).sum();
    }
    if (counts.size() >= SHAPES_MAX && !counts.containsKey(shape)) {
      forgetRarest();
    }
    counts.merge(shape, 1, Integer::sum);
    total++;
    return true;
  }

  private void forgetRarest() {
    Shape rarest =
        Collections.min(counts.entrySet(), Comparator.comparingInt(Map.Entry::getValue)).getKey();
    total -= counts.getOrDefault(rarest, 0);
    counts.remove(rarest);
  }

  int total() {
    return total;
  }

  int size() {
    return counts.size();
  }

  List<Shape> all() {
    return List.copyOf(counts.keySet());
  }

  /** Returns the frequencies in the order of {@link #all}; they add up to 1. */
  double[] weights() {
    return counts.values().stream().mapToDouble(count -> (double) count / total).toArray();
  }

  double meanMilli() {
    double sum = 0;
    for (var entry : counts.entrySet()) {
      sum += (double) entry.getValue() * entry.getKey().totalMilli();
    }
    return total == 0 ? Shape.WHOLE_MILLI : sum / total;
  }

  /** Returns the large shapes. */
  List<Shape> large() {
    return counts.keySet().stream().filter(Shape::large).toList();
  }

  /** Returns the number of pods that need at least what this shape needs. */
  int covering(Shape shape) {
    return counts.entrySet().stream()
        .filter(entry -> entry.getKey().covers(shape))
        .mapToInt(Map.Entry::getValue)
        .sum();
  }
}
