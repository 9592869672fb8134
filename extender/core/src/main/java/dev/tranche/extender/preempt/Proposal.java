package dev.tranche.extender.preempt;

import dev.tranche.extender.ledger.NodeNeeds;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.preempt.Victims.Candidate;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What kube-scheduler's dry run proposes for one node, as far as the victims hold GPUs. The dry run
 * spares every pod that it can. So each victim is in the way of one of its filters, but it does not
 * say of which. A victim may be exchanged for others only if it can be in the way of the GPUs
 * alone.
 */
public final class Proposal implements Victims.Bound {
  private final List<Candidate> candidates;
  private final List<Candidate> offered;
  private final Set<String> kept;
  private final NodeNeeds needs;
  private final NodeNeeds offers;
  private final NodeNeeds left;
  private final boolean stale;
  private long freedCpuMilli;
  private long freedMemoryBytes;
  private long freedStorageBytes;
  private int keptGone;

  /**
   * @param candidates all that may be evicted
   * @param uids of the proposed victims
   * @param left what the node has left at least
   * @param stale kube-scheduler may not have seen yet what was evicted for this pod here, so that
   *     CPU, memory and storage suffice already
   */
  public Proposal(
      PodFacts pod, List<Candidate> candidates, Set<String> uids, NodeNeeds left, boolean stale) {
    this.candidates = candidates;
    this.offered = candidates.stream().filter(c -> uids.contains(c.pod().uid())).toList();
    this.needs = pod.preemption().needs();
    this.kept =
        offered.stream()
            .filter(c -> needs.constrained() || needs(c).constrained())
            .map(c -> c.pod().uid())
            .collect(Collectors.toUnmodifiableSet());
    this.offers = offered.stream().map(Proposal::needs).reduce(NodeNeeds.NONE, NodeNeeds::plus);
    this.left = left;
    this.stale = stale;
  }

  private static NodeNeeds needs(Candidate candidate) {
    return candidate.pod().preemption().needs();
  }

  /** Returns the proposed victims that are candidates. */
  public List<Candidate> offered() {
    return offered;
  }

  /** Returns those of them that must go: they may be in the way of more than the GPUs. */
  public List<Candidate> kept() {
    return offered.stream().filter(c -> kept.contains(c.pod().uid())).toList();
  }

  /** Returns whether kube-scheduler's own filters surely let the pod run without these pods. */
  public boolean sufficesWithout(Set<String> gone) {
    reset();
    candidates.stream().filter(c -> gone.contains(c.pod().uid())).forEach(c -> count(c, 1));
    return mayFit();
  }

  @Override
  public void reset() {
    freedCpuMilli = 0;
    freedMemoryBytes = 0;
    freedStorageBytes = 0;
    keptGone = 0;
  }

  @Override
  public void count(Candidate candidate, int sign) {
    NodeNeeds frees = needs(candidate);
    freedCpuMilli += sign * frees.cpuMilli();
    freedMemoryBytes += sign * frees.memoryBytes();
    freedStorageBytes += sign * frees.storageBytes();
    keptGone += kept.contains(candidate.pod().uid()) ? sign : 0;
  }

  @Override
  public boolean mayFit() {
    return keptGone == kept.size() && (stale || suffices());
  }

  private boolean suffices() {
    return suffices(needs.cpuMilli(), freedCpuMilli, offers.cpuMilli(), left.cpuMilli())
        && suffices(needs.memoryBytes(), freedMemoryBytes, offers.memoryBytes(), left.memoryBytes())
        && suffices(
            needs.storageBytes(), freedStorageBytes, offers.storageBytes(), left.storageBytes());
  }

  /**
   * @param offered what suffices, by the dry run
   * @param left what the node has left at least
   */
  private static boolean suffices(long needed, long freed, long offered, long left) {
    return needed == 0 || freed >= offered || left + freed >= needed;
  }
}
