package dev.tranche.simulate;

import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Preempt.VictimUids;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * kube-scheduler: one pod after the other, by the totals of nodes, with the extender's verbs. It
 * assumes pods that it binds, and counts nominated ones. The queue is {@link SchedulingQueue}.
 */
final class SchedulerModel extends SimulatedProcess {
  private static final int PREEMPTION_MS_MAX = 10;
  private static final long WRITE_MS = 5_000;

  private final World world;
  private final Verbs verbs;
  private final SplittableRandom random;
  final Watch<PodObject> podWatch;
  private final Watch<NodeObject> nodeWatch;
  private final Map<String, PodObject> pods = new LinkedHashMap<>();
  private final Map<String, NodeObject> nodes = new LinkedHashMap<>();

  /** The nodes of pods whose binding it has begun, until the watch shows them there. */
  private final Map<String, String> assumed = new HashMap<>();

  /** Nominated nodes by pod, which it knows before the watch shows them. */
  private final Map<String, String> nominated = new HashMap<>();

  private final SchedulingQueue waiting;
  private boolean busy;
  private boolean synced;

  SchedulerModel(World world, Verbs verbs) {
    super("scheduler", world.queue, world.randoms.of("scheduler"));
    this.world = world;
    this.verbs = verbs;
    this.random = world.randoms.of("scheduler delays");
    this.waiting = new SchedulingQueue(this, this::next);
    this.podWatch = new Watch<>(world, this, world.api.pods, pod -> true, new PodSink());
    this.nodeWatch = new Watch<>(world, this, world.api.nodes, node -> true, new NodeSink());
  }

  @Override
  void start() {
    super.start();
    pods.clear();
    nodes.clear();
    assumed.clear();
    nominated.clear();
    waiting.clear();
    busy = false;
    world.history.add(name, "starts");
    synced = false;
    // Nothing is scheduled before all is listed.
    nodeWatch.start();
    waiting.startTimers();
  }

  @Override
  void kill() {
    super.kill();
    world.history.add(name, "is killed");
  }

  void breakWatches(boolean tooOld) {
    podWatch.breakOff(tooOld);
    nodeWatch.breakOff(tooOld);
  }

  // --- what it sees ---

  private final class PodSink implements Watch.Sink<PodObject> {
    @Override
    public void seen(PodObject pod) {
      PodObject before = pods.put(pod.uid(), pod);
      if (pod.node() != null || pod.ended()) {
        assumed.remove(pod.uid());
        nominated.remove(pod.uid());
        waiting.remove(pod.uid());
        if (!pod.ended()) {
          waiting.boundPodChanged();
        } else if (before == null || (before.node() != null && !before.ended())) {
          waiting.podDeleted();
        }
        return;
      }
      if (pod.nominated() == null) {
        nominated.remove(pod.uid());
      } else {
        nominated.put(pod.uid(), pod.nominated());
      }
      if (pod.waits()) {
        waiting.seen(pod);
      } else {
        waiting.remove(pod.uid());
      }
    }

    @Override
    public void gone(PodObject last) {
      PodObject pod = pods.remove(last.uid());
      boolean held = assumed.remove(last.uid()) != null;
      nominated.remove(last.uid());
      waiting.remove(last.uid());
      if (held || (pod != null && pod.node() != null && !pod.ended())) {
        waiting.podDeleted();
      }
    }

    @Override
    public void listed() {
      synced = true;
      next();
    }
  }

  private final class NodeSink implements Watch.Sink<NodeObject> {
    @Override
    public void seen(NodeObject node) {
      NodeObject before = nodes.put(node.name(), node);
      boolean grew = before == null || node.allocatable() > before.allocatable();
      waiting.nodeChanged(grew);
    }

    @Override
    public void gone(NodeObject node) {
      nodes.remove(node.name());
      waiting.nodeChanged(false);
    }

    @Override
    public void listed() {
      if (!synced) {
        podWatch.start();
      }
    }
  }

  // --- scheduling ---

  private void next() {
    if (busy || !synced) {
      return;
    }
    SchedulingQueue.Attempt attempt = waiting.pop();
    if (attempt == null) {
      return;
    }
    busy = true;
    run(1, () -> filter(attempt));
  }

  private void done() {
    busy = false;
    next();
  }

  /** Returns by node the pods that count there when this one is placed. */
  private Map<String, List<PodObject>> counted(PodObject forPod) {
    Map<String, List<PodObject>> counted = new HashMap<>();
    for (PodObject pod : pods.values()) {
      if (pod.ended()) {
        continue;
      }
      String on = on(pod);
      boolean outranks =
          !pod.uid().equals(forPod.uid()) && pod.plan().priority() >= forPod.plan().priority();
      String node = on == null && outranks ? nominated.get(pod.uid()) : on;
      if (node != null) {
        counted.computeIfAbsent(node, first -> new ArrayList<>()).add(pod);
      }
    }
    return counted;
  }

  private @Nullable String on(PodObject pod) {
    return pod.node() == null ? assumed.get(pod.uid()) : pod.node();
  }

  /** Returns how many replicas a node has free in total without some pods. */
  private static int free(NodeObject node, List<PodObject> counted, Set<String> without) {
    int free = node.allocatable();
    for (PodObject pod : counted) {
      if (!without.contains(pod.uid())) {
        free -= pod.plan().replicas();
      }
    }
    return free;
  }

  private void filter(SchedulingQueue.Attempt attempt) {
    PodObject pod = pods.get(attempt.uid());
    if (pod == null || !pod.waits() || assumed.containsKey(pod.uid())) {
      done();
      return;
    }
    if (nodes.isEmpty()) {
      failed(attempt, pod, "no nodes available");
      return;
    }
    var fit = new ArrayList<String>();
    var resolvable = new HashSet<String>();
    int byTotals = 0;
    Map<String, List<PodObject>> counted = counted(pod);
    for (NodeObject node : nodes.values()) {
      List<PodObject> there = counted.getOrDefault(node.name(), List.of());
      if (free(node, there, Set.of()) >= pod.plan().replicas()) {
        fit.add(node.name());
      } else {
        byTotals++;
        if (node.allocatable() >= pod.plan().replicas()) {
          resolvable.add(node.name());
        }
      }
    }
    var refusal = new Refusal(byTotals, Map.of());
    if (fit.isEmpty()) {
      postFilter(attempt, pod, resolvable, refusal);
      return;
    }
    verbs.filter(this, pod, fit, answer -> filtered(attempt, pod, answer, resolvable, refusal));
  }

  private void filtered(
      SchedulingQueue.Attempt attempt,
      PodObject pod,
      Optional<Filter.Answer> answer,
      Set<String> resolvable,
      Refusal refusal) {
    switch (answer.orElse(null)) {
      case null -> failed(attempt, pod, "filter was not answered");
      case Filter.Answer.Undecided(String why) -> failed(attempt, pod, why);
      case Filter.Answer.Nodes(List<String> offered, Map<Reason, List<String>> refused) -> {
        if (offered.isEmpty()) {
          refused.forEach(
              (reason, nodes) -> {
                if (!reason.unresolvable) {
                  resolvable.addAll(nodes);
                }
              });
          postFilter(attempt, pod, resolvable, new Refusal(refusal.byTotals(), refused));
        } else if (offered.size() == 1) {
          bind(attempt, pod, offered.getFirst());
        } else {
          prioritize(attempt, pod, offered);
        }
      }
    }
  }

  private void prioritize(SchedulingQueue.Attempt attempt, PodObject pod, List<String> offered) {
    verbs.prioritize(
        this,
        pod,
        offered,
        scores -> {
          // An error of prioritize is ignored.
          Map<String, Integer> by = scores.orElse(Map.of());
          int best = offered.stream().mapToInt(node -> by.getOrDefault(node, 0)).max().orElse(0);
          List<String> winners =
              offered.stream().filter(node -> by.getOrDefault(node, 0) == best).toList();
          bind(attempt, pod, winners.get(random.nextInt(winners.size())));
        });
  }

  private void bind(SchedulingQueue.Attempt attempt, PodObject pod, String node) {
    assumed.put(pod.uid(), node);
    done();
    verbs.bind(
        this,
        pod,
        node,
        error -> {
          if (!error.isEmpty()) {
            PodObject now = pods.get(pod.uid());
            assumed.remove(pod.uid());
            waiting.podDeleted();
            if (now != null && now.waits()) {
              waiting.failed(attempt);
              report(now, error, () -> {});
              world.history.add(name, "cannot bind pod %s: %s".formatted(pod.key(), error));
            }
          }
        });
  }

  /**
   * Why a pod fits nowhere.
   *
   * @param byTotals nodes that have too few free replicas in total
   * @param byExtender those that the extender has refused
   */
  private record Refusal(int byTotals, Map<Reason, List<String>> byExtender) {
    /** As in the pod's condition: how often there is each reason. */
    String condition() {
      Map<Reason, Integer> times = new EnumMap<>(Reason.class);
      byExtender.forEach((reason, nodes) -> times.put(reason, nodes.size()));
      return "insufficient: %d, %s".formatted(byTotals, times);
    }
  }

  /** A pod that could not be scheduled; an error is tried again with backoff. */
  private void failed(SchedulingQueue.Attempt attempt, PodObject pod, String why) {
    clearNomination(pod);
    world.history.add(name, "pod %s: %s".formatted(pod.key(), why));
    waiting.failed(attempt);
    report(pod, why, this::done);
  }

  private void unschedulable(SchedulingQueue.Attempt attempt, PodObject pod, Refusal refusal) {
    world.checks.waits(pod);
    world.history.add(name, "pod %s fits nowhere".formatted(pod.key()));
    waiting.refused(attempt, refusal.byTotals() > 0, !refusal.byExtender().isEmpty());
    if (forgets(pod)) {
      world.history.add(
          name, "ignores an event for pod %s, which evicts others".formatted(pod.key()));
    }
    report(pod, refusal.condition(), this::done);
  }

  private void clearNomination(PodObject pod) {
    if (nominated.remove(pod.uid()) != null) {
      world.counts.count(Branch.NOMINATION_CLEARED);
    }
  }

  /** Writes the pod's condition and nominated node. */
  private void report(PodObject pod, String condition, Runnable written) {
    String node = nominated.get(pod.uid());
    world.write(
        this,
        WRITE_MS,
        () -> world.api.unscheduled(pod.uid(), condition, node),
        answered -> written.run());
  }

  // --- preemption ---

  private void postFilter(
      SchedulingQueue.Attempt attempt, PodObject pod, Set<String> resolvable, Refusal refusal) {
    Map<String, VictimUids> offered = new LinkedHashMap<>();
    boolean eligible = mayPreempt(pod);
    if (eligible) {
      Map<String, List<PodObject>> counted = counted(pod);
      for (NodeObject node : nodes.values()) {
        if (resolvable.contains(node.name())) {
          dryRun(node, pod, counted.getOrDefault(node.name(), List.of()))
              .ifPresent(victims -> offered.put(node.name(), victims));
        }
      }
    }
    if (offered.isEmpty()) {
      if (eligible) {
        clearNomination(pod);
      }
      unschedulable(attempt, pod, refusal);
      return;
    }
    verbs.preempt(this, pod, offered, answer -> preempted(attempt, pod, answer, refusal));
  }

  /** While a victim of its first nomination is ending, a pod evicts nobody else. */
  private boolean mayPreempt(PodObject pod) {
    String node = nominated.get(pod.uid());
    return node == null
        || pods.values().stream()
            .noneMatch(
                other ->
                    node.equals(other.node())
                        && other.terminating()
                        && !other.ended()
                        && other.plan().priority() < pod.plan().priority());
  }

  /** Removes all pods of lower priority, and adds as many again as fit. */
  private Optional<VictimUids> dryRun(NodeObject node, PodObject pod, List<PodObject> counted) {
    List<PodObject> lower =
        counted.stream()
            .filter(other -> other.plan().priority() < pod.plan().priority())
            .sorted(
                Comparator.comparingInt((PodObject other) -> -other.plan().priority())
                    .thenComparingLong(PodObject::startedAtMs))
            .toList();
    Set<String> gone = new HashSet<>();
    lower.forEach(other -> gone.add(other.uid()));
    if (gone.isEmpty() || free(node, counted, gone) < pod.plan().replicas()) {
      return Optional.empty();
    }
    var victims = new ArrayList<String>();
    for (PodObject other : lower) {
      gone.remove(other.uid());
      if (free(node, counted, gone) < pod.plan().replicas()) {
        gone.add(other.uid());
        victims.add(other.uid());
      }
    }
    return victims.isEmpty() ? Optional.empty() : Optional.of(new VictimUids(victims, 0));
  }

  private void preempted(
      SchedulingQueue.Attempt attempt,
      PodObject pod,
      Optional<Preempt.Answer> answer,
      Refusal refusal) {
    switch (answer.orElse(null)) {
      case null -> unschedulable(attempt, pod, refusal);
      case Preempt.Answer.Undecided(String why) -> {
        world.history.add(name, "pod %s evicts nobody: %s".formatted(pod.key(), why));
        unschedulable(attempt, pod, refusal);
      }
      case Preempt.Answer.Nodes(Map<String, VictimUids> chosen) -> {
        if (chosen.isEmpty()) {
          unschedulable(attempt, pod, refusal);
          return;
        }
        String node = best(chosen);
        evict(pod, node, chosen.getOrDefault(node, new VictimUids(List.of(), 0)).uids());
        unschedulable(attempt, pod, refusal);
      }
    }
  }

  private String best(Map<String, VictimUids> chosen) {
    return chosen.entrySet().stream()
        .min(
            Comparator.comparingLong((Map.Entry<String, VictimUids> e) -> e.getValue().violations())
                .thenComparingInt(e -> priority(e.getValue().uids().getFirst()))
                .thenComparingInt(e -> e.getValue().uids().stream().mapToInt(this::priority).sum())
                .thenComparingInt(e -> e.getValue().uids().size())
                .thenComparing(Map.Entry::getKey))
        .orElseThrow()
        .getKey();
  }

  private int priority(String uid) {
    PodObject pod = pods.get(uid);
    return pod == null ? 0 : pod.plan().priority();
  }

  private void evict(PodObject pod, String node, List<String> victims) {
    world.counts.count(Branch.PREEMPTION);
    world.counts.count(Branch.NOMINATION);
    world.history.add(name, "evicts %s on %s for pod %s".formatted(victims, node, pod.key()));
    world.checks.evicted(pod, node, victims);
    nominated.put(pod.uid(), node);
    if (world.scenario.asynchronousPreemption()) {
      waiting.preempting(pod.uid(), true);
      run(1 + random.nextInt(PREEMPTION_MS_MAX), () -> deleteInTurn(pod, victims));
    } else {
      victims.forEach(victim -> delete(victim, () -> {}));
    }
  }

  /** The pod may be queued again before the last one is deleted, whose deletion wakes it. */
  private void deleteInTurn(PodObject pod, List<String> victims) {
    if (victims.size() == 1) {
      waiting.preempting(pod.uid(), false);
      delete(victims.getFirst(), () -> {});
    } else {
      delete(victims.getFirst(), () -> deleteInTurn(pod, victims.subList(1, victims.size())));
    }
  }

  private void delete(String victim, Runnable deleted) {
    world.write(this, WRITE_MS, () -> world.api.delete(victim, false), answered -> deleted.run());
  }

  /** Whether it has begun the pod's binding, wherever the pod was nominated. */
  boolean binds(PodObject pod) {
    return assumed.containsKey(pod.uid());
  }

  /** Whether a pod waits for an event that kube-scheduler has lost. */
  boolean forgets(PodObject pod) {
    return waiting.forgets(pod.uid());
  }
}
