package dev.tranche.simulate;

import dev.tranche.api.GpuPart;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A whole cluster in one thread, and what happens in it. */
final class World {
  private static final long ROUTE_MS_MAX = 1_500;
  private static final long NAME_RETRY_MS = 500;
  private static final long LONG_WAIT_MS = 60_000;

  final Scenario scenario;
  final Randoms randoms;
  final EventQueue queue = new EventQueue();
  final History history = new History(queue);
  final Counts counts = new Counts();
  final Network network;
  final ApiModel api;
  final List<ExtenderReplica> extenders = new ArrayList<>();
  final List<SimulatedNode> nodes = new ArrayList<>();
  final SchedulerModel scheduler;
  private final SplittableRandom random;
  private final Faults faults;
  final Checks checks;
  private final Set<String> usedNames = new HashSet<>();
  private int created;
  private long answersLostUntilMs;
  private @Nullable ExtenderReplica route;
  private @Nullable ExtenderReplica leader;
  private final List<Predicate<ExtenderReplica>> onAssignment = new ArrayList<>();
  private final List<OnBinding> onBinding = new ArrayList<>();

  /** Waits for a Binding. */
  interface OnBinding {
    /** Returns whether this was the one. */
    boolean bound(ExtenderReplica by, String node, String gpu);
  }

  World(Scenario scenario) {
    this.scenario = scenario;
    this.randoms = new Randoms(scenario.seed());
    this.random = randoms.of("world");
    this.network = new Network(queue, randoms.of("network"));
    this.api = new ApiModel(queue, randoms.of("api"), history);
    extenders.add(new ExtenderReplica(this, "extender-0"));
    extenders.add(new ExtenderReplica(this, "extender-1"));
    for (int i = 0; i < scenario.gpusOfNodes().size(); i++) {
      nodes.add(new SimulatedNode(this, i, scenario.gpusOfNodes().get(i)));
    }
    this.scheduler = new SchedulerModel(this, new RoutedVerbs(this));
    this.faults = new Faults(this);
    this.checks = new Checks(this);
  }

  /** Runs until the end, or until something does not hold. */
  Outcome run() {
    nodes.forEach(SimulatedNode::start);
    extenders.forEach(ExtenderReplica::start);
    scheduler.start();
    scenario.pods().forEach(plan -> queue.after(plan.createdMs(), () -> create(plan)));
    scenario.faults().forEach(fault -> queue.after(fault.atMs(), () -> faults.apply(fault)));
    checks.start();
    long endMs = scenario.calmMs() + Checks.AFTER_CALM_MS;
    boolean goesOn = true;
    var errors = new LoggedErrors(checks::bug);
    try {
      while (goesOn && checks.violation().isEmpty()) {
        goesOn = next(endMs);
      }
    } finally {
      errors.close();
    }
    return new Outcome(
        scenario, checks.violation(), history, counts, created, checks.bound(), checks.waited());
  }

  private boolean next(long endMs) {
    try {
      return queue.runNext(endMs);
    } catch (RuntimeException bug) {
      StackTraceElement[] at = bug.getStackTrace();
      checks.bug(bug + (at.length == 0 ? "" : " at " + at[0]));
      return true;
    }
  }

  private void create(PodPlan plan) {
    if (calm()) {
      return;
    }
    if (api.pods.named(PodObject.NAMESPACE + "/" + plan.name()).isPresent()) {
      queue.after(NAME_RETRY_MS, () -> create(plan));
      return;
    }
    if (!usedNames.add(plan.name())) {
      counts.count(Branch.NAME_USED_AGAIN);
    }
    api.create(plan);
    created++;
    queue.after(LONG_WAIT_MS, () -> countIfWaiting(plan));
    if (plan.deletedAfterMs() > 0) {
      queue.after(
          plan.deletedAfterMs(),
          () -> {
            if (!calm()) {
              api.delete(plan.uid(), plan.force());
            }
          });
    }
  }

  private void countIfWaiting(PodPlan plan) {
    if (api.pods.get(plan.uid()).filter(PodObject::waits).isPresent()) {
      counts.count(Branch.LONG_WAIT);
    }
  }

  /** Whether no pod comes or goes any more, so that all that fit must be bound. */
  boolean calm() {
    return queue.nowMs() >= scenario.calmMs();
  }

  /**
   * Returns how much of its granted memory a pod uses. Some use more, until it is calm: then those
   * that were refused for memory must be woken.
   */
  int usedPercent(PodPlan plan) {
    return switch (plan.number() % 12) {
      case 0 -> calm() ? 100 : 180;
      case 1, 2, 3, 4 -> 40;
      default -> 100;
    };
  }

  /**
   * Calls the API server, which answers only that it has written.
   *
   * @param answered gets whether an answer came in time
   */
  void write(SimulatedProcess by, long timeoutMs, Runnable write, Consumer<Boolean> answered) {
    network.<Boolean>call(
        by,
        api,
        timeoutMs,
        answer -> {
          write.run();
          answer.accept(true);
        },
        answer -> answered.accept(answer.isPresent()));
  }

  Optional<SimulatedNode> node(@Nullable String name) {
    return nodes.stream().filter(node -> node.name.equals(name)).findFirst();
  }

  int replicas(String node) {
    return node(node).orElseThrow().plugin.replicas();
  }

  // --- the Service of the verbs ---

  /** A replica has begun to lead: the Service routes to it soon. */
  void won(ExtenderReplica replica) {
    if (leader != replica) {
      counts.count(Branch.CHANGE_OF_LEADER);
    }
    leader = replica;
    queue.after(
        random.nextLong(ROUTE_MS_MAX),
        () -> {
          if (leader == replica) {
            route = replica;
          }
        });
  }

  void retired(ExtenderReplica replica) {
    queue.after(
        random.nextLong(ROUTE_MS_MAX),
        () -> {
          if (route == replica && leader != replica) {
            route = null;
          }
        });
  }

  /** The Service still routes to the other replica. */
  void routeToOther() {
    route = extenders.get(route == extenders.get(0) ? 1 : 0);
    queue.after(ROUTE_MS_MAX, () -> route = leader);
  }

  @Nullable ExtenderReplica routed() {
    return route;
  }

  @Nullable ExtenderReplica leader() {
    return leader;
  }

  // --- faults that others ask about ---

  void loseAnswers(long forMs) {
    answersLostUntilMs = Math.max(answersLostUntilMs, queue.nowMs() + forMs);
  }

  boolean answersLost() {
    return queue.nowMs() < answersLostUntilMs;
  }

  /**
   * @param fault returns whether this was the assignment that it has waited for
   */
  void onAssignment(Predicate<ExtenderReplica> fault) {
    onAssignment.add(fault);
  }

  void onBinding(OnBinding fault) {
    onBinding.add(fault);
  }

  /** A node has acknowledged an assignment. */
  void assignmentDone(ExtenderReplica by) {
    onAssignment.stream()
        .filter(fault -> fault.test(by))
        .findFirst()
        .ifPresent(onAssignment::remove);
  }

  // --- what is checked at once ---

  /** A Binding was accepted. */
  void bindingDone(ExtenderReplica by, String node, String gpu) {
    boolean other = extenders.stream().anyMatch(each -> each != by && each.believesToLead());
    if (other || !by.believesToLead()) {
      counts.count(Branch.BIND_OF_FORMER_LEADER);
    }
    checks.check(node);
    onBinding.stream()
        .filter(fault -> fault.bound(by, node, gpu))
        .findFirst()
        .ifPresent(onBinding::remove);
  }

  /** A kubelet has admitted a pod. */
  void allocated(PodObject pod, Map<String, GpuPart> parts) {
    checks.admitted(pod, parts);
    checks.check(Objects.requireNonNull(pod.node()));
  }
}
