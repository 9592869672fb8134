package dev.tranche.extender.invariant;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Remembers since when each finding stands, and tells those that stand for longer than they may.
 * Time is a parameter, in milliseconds of any clock.
 */
public final class InvariantWatch {
  private record Key(Invariant invariant, String subject) {}

  /** A finding that stands now. */
  public record Standing(Finding finding, long sinceMs, boolean broken) {}

  private Map<Key, Long> sinceMs = new LinkedHashMap<>();

  /** Takes the findings of one moment, and returns those that stand for too long. */
  public List<Finding> update(List<Finding> now, long nowMs) {
    return standing(now, nowMs).stream().filter(Standing::broken).map(Standing::finding).toList();
  }

  /** Takes the findings of one moment, and returns them with the time for which they stand. */
  public List<Standing> standing(List<Finding> now, long nowMs) {
    Map<Key, Long> standing = new LinkedHashMap<>();
    Map<Key, Standing> found = new LinkedHashMap<>();
    for (Finding finding : now) {
      var key = new Key(finding.invariant(), finding.subject());
      long since = sinceMs.getOrDefault(key, nowMs);
      standing.put(key, since);
      found.put(key, new Standing(finding, since, nowMs - since >= finding.invariant().boundMs));
    }
    sinceMs = standing;
    return List.copyOf(found.values());
  }

  /** Forgets since when anything stands, since a fault is under way. */
  public void reset() {
    sinceMs = new LinkedHashMap<>();
  }
}
