package dev.tranche.e2e.bench;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * The latency of the verbs, from the extender's own histogram.
 *
 * @param counts by verb, the number of calls that took at most so many seconds
 */
record VerbLatency(Map<String, TreeMap<Double, Double>> counts) {
  private static final Pattern BUCKET =
      Pattern.compile("tranche_extender_verb_duration_seconds_bucket\\{(.*)\\} (\\S+)");
  private static final Pattern LABEL = Pattern.compile("(\\w+)=\"([^\"]*)\"");

  static VerbLatency of(String metrics) {
    var counts = new HashMap<String, TreeMap<Double, Double>>();
    metrics
        .lines()
        .map(BUCKET::matcher)
        .filter(java.util.regex.Matcher::matches)
        .forEach(
            line -> {
              var labels = new HashMap<String, String>();
              LABEL
                  .matcher(line.group(1))
                  .results()
                  .forEach(l -> labels.put(l.group(1), l.group(2)));
              String le = String.valueOf(labels.get("le"));
              counts
                  .computeIfAbsent(String.valueOf(labels.get("verb")), verb -> new TreeMap<>())
                  .merge(
                      le.equals("+Inf") ? Double.POSITIVE_INFINITY : Double.parseDouble(le),
                      Double.parseDouble(line.group(2)),
                      Double::sum);
            });
    return new VerbLatency(counts);
  }

  VerbLatency minus(VerbLatency before) {
    var during = new HashMap<String, TreeMap<Double, Double>>();
    counts.forEach(
        (verb, buckets) -> {
          var less = new TreeMap<>(buckets);
          before
              .counts
              .getOrDefault(verb, new TreeMap<>())
              .forEach((le, n) -> less.merge(le, -n, Double::sum));
          during.put(verb, less);
        });
    return new VerbLatency(during);
  }

  /** Returns a quantile, interpolated within its bucket as in Prometheus, or NaN without calls. */
  double quantileMs(String verb, double quantile) {
    TreeMap<Double, Double> buckets = counts.getOrDefault(verb, new TreeMap<>());
    double total = buckets.isEmpty() ? 0 : buckets.lastEntry().getValue();
    if (total <= 0) {
      return Double.NaN;
    }
    double rank = quantile * total;
    double lower = 0;
    double below = 0;
    for (var bucket : buckets.entrySet()) {
      if (bucket.getValue() >= rank) {
        double upper = bucket.getKey();
        double inside = bucket.getValue() - below;
        return 1e3
            * (Double.isInfinite(upper)
                ? lower
                : lower + (upper - lower) * (rank - below) / inside);
      }
      lower = bucket.getKey();
      below = bucket.getValue();
    }
    return lower * 1e3;
  }
}
