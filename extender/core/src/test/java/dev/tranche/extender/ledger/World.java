package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.placement.Placement;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A cluster in one thread: an API server, kubelets with their plugins, and two replicas of the
 * Ledger that hear of everything late, each on its own way. Only the leader is asked.
 */
final class World {
  /** An overloaded API server's watch lags beyond every timeout of the Ledger. */
  private static final int WATCH_LATE_MS_MAX =
      (int)
          (60_000
              + LongStream.of(
                      Timing.DEFAULT.tentativeMs(),
                      Timing.DEFAULT.unknownBindMs(),
                      Timing.DEFAULT.tombstoneMs(),
                      Timing.DEFAULT.nominatedMs(),
                      Timing.DEFAULT.terminatingMs(),
                      Timing.DEFAULT.newcomerMs())
                  .max()
                  .orElseThrow());

  /** What a report takes. */
  private static final int REPORT_LATE_MS = 800;

  /** What the API server takes to answer. */
  private static final int ANSWER_LATE_MS = 4_000;

  /** The kubelet's list is read so often. */
  private static final int LIST_AGE_MS = 2_000;

  final List<Node> nodes = new ArrayList<>();

  /** What the API server has, by uid. */
  final Map<String, Pod> pods = new LinkedHashMap<>();

  private final RandomGenerator random;
  final String seed;

  /** What a watch may lag. */
  private final int watchLateMs;

  /** Whether others than we put pods on nodes, and kubelets give other GPUs than assigned. */
  final boolean strangers;

  long nowMs = 1_000;
  private int created;
  final WorldChecks checks = new WorldChecks(this);
  Replica leader;
  Replica standby;

  World(long seed, boolean strangers) {
    this.seed = "seed " + seed + (strangers ? " with strangers" : "");
    this.strangers = strangers;
    random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
    watchLateMs = pick(List.of(12_000, 120_000, WATCH_LATE_MS_MAX));
    nodes.add(new Node("node-0", 10, 10));
    nodes.add(new Node("node-1", 10, 4));
    nodes.add(new Node("node-2", 10, 10));
    leader = new Replica();
    standby = new Replica();
    settle();
  }

  private record Timed(long atMs, Event event) {}

  final class Replica {
    final Ledger ledger = new Ledger(Timing.DEFAULT, since1970Ms -> since1970Ms);
    private final Map<String, ArrayDeque<Timed>> watch = new LinkedHashMap<>();
    private final Map<String, ArrayDeque<Timed>> reports = new LinkedHashMap<>();
    private final Map<String, ArrayDeque<Timed>> answers = new LinkedHashMap<>();
    private final Set<String> cut = new HashSet<>();

    Replica() {
      pods.values().stream()
          .filter(pod -> pod.shown)
          .forEach(pod -> apply(new Event.PodSeen(pod.facts)));
      apply(new Event.Synced());
    }

    void apply(Event event) {
      for (Decision decision : ledger.apply(event, nowMs)) {
        if (cut.contains(decision.node())) {
          continue;
        }
        switch (decision) {
          case Decision.Assign(String node, Assignment a) -> node(node).kept.put(a.uid(), a);
          case Decision.Retract(String node, String uid) -> node(node).kept.remove(uid);
          case Decision.CheckPod check -> checked(check);
          default -> {}
        }
      }
    }

    /** The API server answers late, or not at all. */
    private void checked(Decision.CheckPod check) {
      if (random.nextInt(3) == 0) {
        return;
      }
      Pod pod = pods.get(check.uid());
      PodFacts facts = pod == null ? null : pod.facts;
      var answer = new Event.PodChecked(check.uid(), check.key(), facts, nowMs);
      later(answers, check.uid(), answer, ANSWER_LATE_MS);
    }

    private void deliverDue(long untilMs) {
      List.copyOf(answers.values()).forEach(queue -> deliver(queue, untilMs));
      answers.values().removeIf(ArrayDeque::isEmpty);
      for (var queue : List.copyOf(watch.values())) {
        deliver(queue, untilMs);
      }
      reports.values().forEach(queue -> deliver(queue, untilMs));
      watch.values().removeIf(ArrayDeque::isEmpty);
    }

    private void deliver(ArrayDeque<Timed> queue, long untilMs) {
      while (!queue.isEmpty() && queue.getFirst().atMs() <= untilMs) {
        Event event = queue.removeFirst().event();
        apply(event);
        if (random.nextInt(5) == 0) {
          apply(event);
        }
      }
    }

    private void later(Map<String, ArrayDeque<Timed>> on, String key, Event event, int lateMs) {
      var queue = on.computeIfAbsent(key, k -> new ArrayDeque<>());
      long at = nowMs + random.nextInt(lateMs + 1);
      queue.addLast(new Timed(queue.isEmpty() ? at : Math.max(at, queue.getLast().atMs()), event));
    }
  }

  /** A kubelet with its plugin. */
  final class Node {
    final String name;
    final List<GpuFacts> gpus = new ArrayList<>();
    final Map<String, Assignment> kept = new LinkedHashMap<>();
    private final boolean listsFinished = random.nextBoolean();
    Map<String, Map<String, Map<String, Integer>>> listed = Map.of();
    private long listedAtMs;
    private boolean listKnown = true;

    /** Whether its kubelet answers PodResources; else the last list is repeated. */
    private boolean answers = true;

    /** Plugins of old do not. */
    private boolean reportsListAge = true;

    private boolean serving = true;

    Node(String name, int... replicas) {
      this.name = name;
      for (int i = 0; i < replicas.length; i++) {
        gpus.add(TestFacts.gpu(name + "-gpu-" + i, i, replicas[i], 16L << 30));
      }
    }

    int used(String uuid) {
      return pods.values().stream()
          .filter(p -> name.equals(p.facts.node()) && p.real != null && !p.facts.ended())
          .mapToInt(p -> Objects.requireNonNull(p.real).held().getOrDefault(uuid, 0))
          .sum();
    }

    private void list() {
      listed = new HashMap<>();
      for (Pod pod : pods.values()) {
        Placement real = pod.real;
        if (name.equals(pod.facts.node())
            && real != null
            && (listsFinished || !pod.facts.ended())) {
          listed.put(pod.facts.key(), Views.readBack(real));
        }
      }
      listedAtMs = nowMs;
      pods.values().stream()
          .filter(pod -> pod.admitted && listed.containsKey(pod.facts.key()))
          .forEach(pod -> kept.remove(pod.facts.uid()));
    }

    private @Nullable NodeState lastState;

    OptionalLong listAgeMs() {
      return reportsListAge ? OptionalLong.of(nowMs - listedAtMs) : OptionalLong.empty();
    }

    NodeState state() {
      if (answers && nowMs - listedAtMs > random.nextInt(LIST_AGE_MS)) {
        list();
      }
      var now = Views.state(serving, gpus, listed, listKnown, kept.values());
      // As ReportReader does: what says the same is the same.
      NodeState before = lastState;
      lastState = before != null && before.equals(now) ? before : now;
      return lastState;
    }
  }

  Node node(String name) {
    return nodes.stream().filter(n -> n.name.equals(name)).findFirst().orElseThrow();
  }

  // --- what happens ---

  void act() {
    advance(random.nextInt(1_500));
    switch (random.nextInt(22)) {
      case 0, 1, 2, 3, 4, 5 -> schedule();
      case 6, 7, 8 -> any(p -> p.facts.node() != null && !p.admitted).ifPresent(this::admit);
      case 9, 10 -> any(p -> p.admitted && !p.facts.ended()).ifPresent(this::finish);
      case 11 -> any(p -> true).ifPresent(this::delete);
      case 12, 13 -> report(pick(nodes));
      case 14 -> reconnect(pick(nodes), random.nextBoolean() ? leader : standby);
      case 15 -> restartPlugin(pick(nodes));
      case 16 -> sometimes(4, this::failOver);
      case 17 -> sometimes(5, () -> advance(20_000 + random.nextInt(180_000)));
      case 18 -> {
        if (strangers) {
          pick(List.<Runnable>of(this::bindByOthers, this::staticPod)).run();
        }
      }
      case 19 -> {
        Node node = pick(nodes);
        node.answers = !node.answers;
      }
      default -> ticks();
    }
    checks.neverOver();
  }

  private void sometimes(int oneIn, Runnable action) {
    if (random.nextInt(oneIn) == 0) {
      action.run();
    }
  }

  private <T> T pick(List<T> of) {
    return of.get(random.nextInt(of.size()));
  }

  private Optional<Pod> any(java.util.function.Predicate<Pod> which) {
    List<Pod> all = pods.values().stream().filter(which).toList();
    return all.isEmpty() ? Optional.empty() : Optional.of(pick(all));
  }

  /** Nothing that is due stays out, however far the clock jumps. */
  private void advance(long byMs) {
    long untilMs = nowMs + byMs;
    while (nowMs < untilMs) {
      nowMs = Math.min(untilMs, nowMs + 2_000);
      leader.deliverDue(nowMs);
      standby.deliverDue(nowMs);
      if (byMs > 5_000) {
        nodes.forEach(this::report);
        ticks();
      }
    }
  }

  private void ticks() {
    List.of(leader, standby).forEach(replica -> replica.apply(new Event.Tick()));
  }

  private void publish(Pod pod) {
    if (pod.shown) {
      changed(pod.facts.key(), new Event.PodSeen(pod.facts));
    }
  }

  /** A watch shows what happens under one name in that order. */
  private void changed(String key, Event event) {
    for (Replica replica : List.of(leader, standby)) {
      replica.later(replica.watch, key, event, watchLateMs);
    }
  }

  private void reportAndWait() {
    nodes.forEach(this::report);
    advance(1_000);
  }

  void report(Node node) {
    for (Replica replica : List.of(leader, standby)) {
      if (!replica.cut.contains(node.name)) {
        NodeState state = node.state();
        var event = new Event.Reported(node.name, state, node.listAgeMs());
        replica.later(replica.reports, node.name, event, REPORT_LATE_MS);
      }
    }
  }

  private void reconnect(Node node, Replica replica) {
    if (replica.cut.remove(node.name)) {
      report(node);
    } else {
      replica.cut.add(node.name);
      replica.reports.remove(node.name);
      replica.apply(new Event.StreamLost(node.name));
    }
  }

  private void restartPlugin(Node node) {
    if (node.serving) {
      node.serving = false;
      node.listKnown = false;
    } else if (!node.listKnown) {
      node.reportsListAge = random.nextBoolean();
      node.serving = true;
      node.listKnown = true;
    }
    report(node);
  }

  /** The new leader has waited for the lease, and has heard what was under way. */
  private void failOver() {
    leader = standby;
    standby = new Replica();
    leader.deliverDue(nowMs + watchLateMs);
    nodes.forEach(node -> reconnectAll(node));
    advance(3_000);
  }

  private void reconnectAll(Node node) {
    leader.cut.remove(node.name);
    standby.cut.remove(node.name);
    report(node);
  }

  // --- pods ---

  private void schedule() {
    Pod pod = any(p -> p.facts.node() == null).filter(p -> random.nextBoolean()).orElse(null);
    if (pod == null) {
      pod = create();
    }
    PodFacts facts = pod.facts;
    leader.apply(new Event.Release(facts.uid()));
    Node node = pick(nodes);
    Optional<Placement> place = Views.place(leader.ledger, facts, node.name, nowMs);
    if (place.isEmpty() || leader.ledger.hold(facts.uid()).isPresent()) {
      return;
    }
    if (random.nextBoolean()) {
      leader.apply(new Event.Reserve(facts, node.name, place.get()));
      if (random.nextInt(4) == 0) {
        return;
      }
      advance(random.nextInt(300));
      place = Views.place(leader.ledger, facts, node.name, nowMs);
    }
    // It may have been deleted meanwhile, or somebody else have taken the room.
    if (place.isPresent() && !leader.cut.contains(node.name) && pods.containsKey(facts.uid())) {
      bind(pod, node, place.get());
    }
  }

  /** What becomes of a Binding that the leader has sent. */
  private enum Fate {
    REFUSED,
    LEADER_DIES,
    CARRIED_OUT_AFTER_A_WHILE,
    LEADER_DIES_AFTER_IT,
    ANSWER_IS_LOST,
    LANDS_LATE,
    CARRIED_OUT;

    private static final List<Fate> ALL = List.of(values());

    /** Half of them are just carried out. */
    static Fate of(int ofTwelve) {
      return ALL.get(Math.min(ofTwelve, ALL.size() - 1));
    }
  }

  private void bind(Pod pod, Node node, Placement place) {
    String uid = pod.facts.uid();
    leader.apply(new Event.BindStarted(pod.facts, node.name, place));
    report(node);
    Fate drawn = Fate.of(random.nextInt(12));
    boolean annotated = Views.annotated(pod.facts, node, place);
    switch (drawn == Fate.LANDS_LATE && !annotated ? Fate.ANSWER_IS_LOST : drawn) {
      case REFUSED -> leader.apply(new Event.BindFailed(uid));
      case LEADER_DIES -> failOver();
      case CARRIED_OUT_AFTER_A_WHILE -> {
        leader.apply(new Event.BindUnknown(uid));
        advance(random.nextInt(4_000));
        carryOut(pod, node, place);
      }
      case LEADER_DIES_AFTER_IT -> {
        carryOut(pod, node, place);
        failOver();
      }
      case ANSWER_IS_LOST -> {
        carryOut(pod, node, place);
        leader.apply(new Event.BindUnknown(uid));
      }
      case LANDS_LATE -> landLate(pod, node, place);
      case CARRIED_OUT -> {
        carryOut(pod, node, place);
        leader.apply(new Event.BindDone(uid));
      }
    }
  }

  /** A dead leader's bind is carried out while the new one tries another node, or gives up. */
  private void landLate(Pod pod, Node node, Placement place) {
    PodFacts before = pod.facts;
    failOver();
    Node other = pick(nodes);
    Views.place(leader.ledger, before, other.name, nowMs)
        .ifPresentOrElse(
            there -> leader.apply(new Event.BindStarted(before, other.name, there)),
            () -> leader.apply(new Event.Release(before.uid())));
    nodes.forEach(this::report);
    advance(random.nextInt(3_000));
    if (pods.containsKey(before.uid())) {
      carryOut(pod, node, place);
      leader.apply(new Event.BindFailed(before.uid()));
      leader.apply(Event.PodChecked.forBind(before.on(node.name)));
      leader.apply(new Event.PodSeen(pod.facts));
      reportAndWait();
    }
  }

  private void carryOut(Pod pod, Node node, Placement place) {
    if (pods.containsKey(pod.facts.uid())) {
      pod.facts = Views.bound(pod.facts, node, place);
      publish(pod);
    }
  }

  private void bindByOthers() {
    Pod pod = create();
    Node node = pick(nodes);
    pod.facts = Views.facts(pod.facts, node.name, false, false, pod.facts.annotations());
    publish(pod);
    admit(pod);
  }

  /** Its mirror comes late, and comes again when somebody deletes it. */
  private void staticPod() {
    Pod pod = any(p -> p.fromFile && !p.facts.ended()).orElse(null);
    if (pod == null || random.nextInt(3) == 0) {
      pod = made();
      pod.fromFile = true;
      pod.shown = false;
      pod.facts = Views.facts(pod.facts, pick(nodes).name, false, false, pod.facts.annotations());
      admit(pod);
    } else if (pod.shown) {
      pods.remove(pod.facts.uid());
      changed(pod.facts.key(), new Event.PodGone(pod.facts.uid(), pod.facts.key()));
      pod.facts = Views.renewed(pod.facts, "uid-" + created++);
      pods.put(pod.facts.uid(), pod);
      publish(pod);
    } else {
      mirror(pod);
    }
  }

  private void mirror(Pod pod) {
    pod.shown = true;
    publish(pod);
  }

  /**
   * As the kubelet admits: where its plugin says, if there is room; else the pod fails for good.
   */
  private void admit(Pod pod) {
    Node node = node(Objects.requireNonNull(pod.facts.node()));
    Assignment assigned = node.kept.get(pod.facts.uid());
    pod.admitted = true;
    Demand demand = pod.facts.demand(10);
    if (!strangers) {
      assertThat(assigned).as("%s: assignment of %s", seed, pod.facts.key()).isNotNull();
      Placement place = Objects.requireNonNull(assigned).placement();
      place.held().forEach((uuid, n) -> assertThat(n).isPositive());
      pod.real = Views.kubelets(demand, place);
      fitsReally(node, pod);
    } else {
      pod.real = Views.anywhere(node, demand);
    }
    boolean runs = pod.real != null;
    pod.facts =
        Views.facts(pod.facts, node.name, !runs, runs, pod.facts.annotations())
            .with(pod.facts.preemption());
    publish(pod);
    report(node);
  }

  private void fitsReally(Node node, Pod pod) {
    assertThat(node.gpus)
        .as("%s: with %s", seed, pod.facts.key())
        .allMatch(gpu -> node.used(gpu.uuid()) <= gpu.replicas());
  }

  private void finish(Pod pod) {
    pod.facts = Views.facts(pod.facts, pod.facts.node(), true, false, pod.facts.annotations());
    publish(pod);
  }

  /** Terminates for a while if it runs, and holds its GPU meanwhile. */
  private void delete(Pod pod) {
    boolean holds = pod.admitted && pod.real != null && !pod.facts.ended();
    if (holds && !pod.facts.preemption().terminating()) {
      pod.facts = pod.facts.with(new PreemptionInfo(0, Map.of(), 0, true, null));
      publish(pod);
      return;
    }
    pods.remove(pod.facts.uid());
    changed(pod.facts.key(), new Event.PodGone(pod.facts.uid(), pod.facts.key()));
  }

  void endAll() {
    for (Pod pod : List.copyOf(pods.values())) {
      delete(pod);
      if (pods.containsKey(pod.facts.uid())) {
        delete(pod);
      }
    }
    settle();
    advance(4 * Timing.DEFAULT.unknownBindMs());
  }

  /** Everything is heard, and the nodes have told the latest. */
  void settle() {
    pods.values().stream().filter(pod -> !pod.shown).forEach(this::mirror);
    nodes.forEach(
        node -> {
          node.serving = true;
          node.listKnown = true;
          node.answers = true;
          node.reportsListAge = true;
          reconnectAll(node);
        });
    advance(2L * watchLateMs);
    // Leaders that died one after the other may each have left an assignment on another node.
    nodes.forEach(node -> tryAgain());
    nodes.forEach(Node::list);
    reportAndWait();
    // Those that nobody binds any more are forgotten.
    advance(Timing.DEFAULT.unknownBindMs() + 5_000);
  }

  /** kube-scheduler tries those again that wait. */
  private void tryAgain() {
    pods.values().stream()
        .filter(pod -> pod.facts.node() == null)
        .forEach(pod -> leader.apply(new Event.Release(pod.facts.uid())));
    reportAndWait();
  }

  private Pod create() {
    Pod pod = made();
    publish(pod);
    return pod;
  }

  private Pod made() {
    String name = name();
    String uid = "uid-" + created++;
    boolean several = random.nextInt(6) == 0;
    var annotations = Views.annotations(several || random.nextInt(3) > 0, several);
    var requests = several ? Views.onEachOfTwo(random) : Views.requests(random);
    var facts =
        new PodFacts(uid, "ns", name, null, false, false, Names.RESOURCE, requests, annotations);
    var pod = new Pod(facts);
    pods.put(uid, pod);
    return pod;
  }

  /** Half of the pods are of StatefulSets and have the names of earlier ones. */
  private String name() {
    String name = "web-" + random.nextInt(8);
    boolean taken = pods.values().stream().anyMatch(p -> p.facts.name().equals(name));
    return taken ? "job-" + created : name;
  }
}
