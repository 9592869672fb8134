package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.preempt.Victims;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Holds GPUs for pods that kube-scheduler has nominated by a plan that was not made here: the
 * replica that made it may be gone, but its victims still end, and what they free is not for pods
 * of lower priority. The plan is made anew from what the API server shows: the nomination, and who
 * terminates on that node.
 */
public final class Nominees {
  static final int PODS_MAX = 1_000;

  /** Each filter spends that on others' plans at most; it must answer its own pod's in time. */
  private static final long SETTLE_MS_MAX = 50;

  /** By uid, those first that were seen first. */
  private final Map<String, Nominee> nominees = new LinkedHashMap<>();

  /** What a plan was made from; the same again need not be tried. */
  private record Tried(long ledgerVersion, long loadVersion, boolean budgetsRead) {}

  private static final class Nominee {
    final String node;
    final long sinceMs;

    /** Its plan is not ours to make, or not any more. */
    boolean settled;

    @Nullable Tried tried;

    /** When the round began that it last had its turn in; 0: none yet. */
    long turnMs;

    Nominee(String node, long sinceMs, boolean settled) {
      this.node = node;
      this.sinceMs = sinceMs;
      this.settled = settled;
    }
  }

  /** Nominated pods that are not bound yet. */
  public int size() {
    return nominees.size();
  }

  /** After the Ledger has been told of the pod, or of its end. */
  void seen(Core core, String uid) {
    String node =
        core.ledger
            .pod(uid)
            .filter(pod -> pod.node() == null && !pod.ended())
            .map(pod -> pod.standing().nominatedNode())
            .orElse(null);
    Nominee known = nominees.get(uid);
    if (known != null && known.node.equals(node)) {
      return;
    }
    nominees.remove(uid);
    if (node != null) {
      nominees.put(uid, new Nominee(node, core.nowMs(), core.ledger.nominated(uid)));
      forgetTheOldest();
    }
  }

  private void forgetTheOldest() {
    if (nominees.size() > PODS_MAX) {
      Iterator<String> oldest = nominees.keySet().iterator();
      oldest.next();
      oldest.remove();
    }
  }

  /** Victims were chosen here. */
  void planned(String uid) {
    Nominee nominee = nominees.get(uid);
    if (nominee != null) {
      nominee.settled = true;
    }
  }

  private record Open(PodFacts pod, Nominee nominee) {}

  /**
   * Before others are given room: the GPUs of those that are nominated are held, if possible. Those
   * that the time was not enough for come first the next time; among equals, by priority.
   */
  void settle(Core core) {
    if (nominees.isEmpty()) {
      return;
    }
    List<Open> open =
        nominees.entrySet().stream()
            .filter(entry -> !entry.getValue().settled)
            .flatMap(
                entry ->
                    core.ledger.pod(entry.getKey()).stream()
                        .map(pod -> new Open(pod, entry.getValue())))
            .sorted(
                Comparator.<Open>comparingLong(each -> each.nominee().turnMs)
                    .thenComparingInt(each -> -each.pod().standing().priority()))
            .toList();
    long nowMs = core.nowMs();
    for (Open each : open) {
      if (core.nowMs() > nowMs + SETTLE_MS_MAX) {
        return;
      }
      each.nominee().turnMs = nowMs;
      settle(core, each.pod(), each.nominee());
    }
  }

  private static void settle(Core core, PodFacts pod, Nominee nominee) {
    Optional<Hold> elsewhere =
        core.ledger.hold(pod.uid()).filter(hold -> !core.ledger.nominated(pod.uid()));
    if (elsewhere.filter(hold -> hold.stage() == Hold.Stage.TENTATIVE).isPresent()) {
      // It may come to nothing: then the room where the pod is nominated is its again.
      return;
    }
    boolean late = core.nowMs() - nominee.sinceMs >= Timing.DEFAULT.nominatedMs();
    nominee.settled = elsewhere.isPresent() || late;
    if (nominee.settled || tried(core, nominee.node).equals(nominee.tried)) {
      return;
    }
    Set<String> leaving = leaving(core, nominee.node);
    Optional<Placement> freed = core.evaluateWithout(pod, nominee.node, leaving).placement();
    nominee.settled = freed.isPresent();
    freed
        .or(() -> expected(core, pod, nominee.node, leaving))
        .ifPresent(place -> plan(core, pod, nominee.node, place));
    nominee.tried = tried(core, nominee.node);
  }

  private static Tried tried(Core core, String node) {
    boolean budgetsRead = core.budgetsUnread().isEmpty();
    return new Tried(core.ledger.version(node), core.loads.version(node), budgetsRead);
  }

  /** However long ago they were told to go: these are who the pod was nominated for. */
  private static Set<String> leaving(Core core, String node) {
    return core.ledger.holds(node).stream()
        .flatMap(hold -> core.ledger.pod(hold.uid()).stream())
        .filter(pod -> pod.standing().leaving())
        .map(PodFacts::uid)
        .collect(Collectors.toSet());
  }

  /** Not all victims are known to go yet: where the fewest more would make room. */
  private static Optional<Placement> expected(
      Core core, PodFacts pod, String node, Set<String> leaving) {
    if (core.budgetsUnread().isPresent()) {
      // Who would go is chosen by budgets: without them it would be somebody else.
      return Optional.empty();
    }
    var candidates =
        Preempt.candidates(core, pod, node).stream()
            .filter(candidate -> !leaving.contains(candidate.pod().uid()))
            .toList();
    var victims =
        new Victims(
            core.budgets(),
            more -> core.evaluateWithout(pod, node, both(leaving, more)).placement().isPresent());
    return victims
        .choose(candidates, Set.of())
        .map(choice -> choice.victims().stream().map(PodFacts::uid).collect(Collectors.toSet()))
        .flatMap(more -> core.evaluateWithout(pod, node, both(leaving, more)).placement());
  }

  private static Set<String> both(Set<String> some, Set<String> others) {
    var all = new HashSet<>(some);
    all.addAll(others);
    return all;
  }

  private static void plan(Core core, PodFacts pod, String node, Placement place) {
    core.told(new Event.Nominate(pod, Map.of(node, place), node));
    // It is nominated already: the hold lasts as long as that of a nomination that we have seen.
    core.told(new Event.PodSeen(pod));
  }
}
