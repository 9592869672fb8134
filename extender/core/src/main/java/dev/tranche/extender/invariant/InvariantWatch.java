package dev.tranche.extender.invariant;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Remembers since when each finding stands, and returns those that stand for longer than they may.
 * Time is a parameter, in milliseconds of any clock.
 */
public final class InvariantWatch {
  private record Key(Invariant invariant, String subject) {}

  private Map<Key, Long> sinceMs = new LinkedHashMap<>();

  /** Takes the findings of one moment, and returns those that stand for too long. */
  public List<Finding> update(List<Finding> now, long nowMs) {
    Map<Key, Long> standing = new LinkedHashMap<>();
    var broken = new ArrayList<Finding>();
    for (Finding finding : now) {
      var key = new Key(finding.invariant(), finding.subject());
      long since = sinceMs.getOrDefault(key, nowMs);
      standing.put(key, since);
      if (nowMs - since >= finding.invariant().boundMs()) {
        broken.add(finding);
      }
    }
    sinceMs = standing;
    return broken;
  }

  /** Forgets since when anything stands, since a fault is under way. */
  public void reset() {
    sinceMs = new LinkedHashMap<>();
  }
}
