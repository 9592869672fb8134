package dev.tranche.extender.score.packing;

import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * How often each shape was seen: what is to come will be like it. Pods without GPUs are left out.
 */
final class Shapes {
  /** More different ones at once are not told apart by their frequency anyway. */
  static final int SHAPES_MAX = 512;

  /** When so many pods were counted all counts are halved, so that habits may change. */
  static final int PODS_MAX = 20_000;

  private final Map<Shape, Integer> counts = new LinkedHashMap<>();
  private final Set<String> counted = new LinkedHashSet<>();
  private int total;

  /** Counts a pod once, however often it comes; whether it was new. */
  boolean count(String uid, Shape shape) {
    if (shape.count() == 0 || !counted.add(uid)) {
      return false;
    }
    if (counted.size() > PODS_MAX) {
      counted.remove(counted.iterator().next());
    }
    if (total >= PODS_MAX) {
      halve();
    }
    if (counts.size() >= SHAPES_MAX && !counts.containsKey(shape)) {
      forgetRarest();
    }
    counts.merge(shape, 1, Integer::sum);
    total++;
    return true;
  }

  private void halve() {
    counts.replaceAll((shape, count) -> (count + 1) / 2);
    total = counts.values().stream().mapToInt(Integer::intValue).sum();
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

  /** In the order of {@link #all}; in sum 1. */
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

  /** Large ones. */
  List<Shape> large() {
    return counts.keySet().stream().filter(Shape::large).toList();
  }

  /** Pods that need at least what this shape needs. */
  int covering(Shape shape) {
    return counts.entrySet().stream()
        .filter(entry -> entry.getKey().covers(shape))
        .mapToInt(Map.Entry::getValue)
        .sum();
  }
}
