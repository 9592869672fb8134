package dev.tranche.simulate;

import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.election.SimulatedLeadership;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.state.NodePlugins;
import dev.tranche.extender.stream.SimulatedStreams;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * One replica of the extender: its own code for what decides, and what stands for its sockets,
 * threads and timers.
 */
final class ExtenderReplica extends SimulatedProcess implements NodePlugins {
  private static final long TICK_MS = 250;
  private static final long ACK_WITHIN_MS = 2_000;
  private static final long UNATTENDED_ACK_MS = 10_000;
  private static final long SILENCE_MS = 15_000;
  private static final long LEASE_RETRY_MS = 2_000;
  private static final long LEASE_CALL_MS = 2_500;
  private static final long BATCH_MS = 10;

  private final World world;
  private final SplittableRandom random;
  private final Watch<NodeObject> nodeWatch;
  private final Watch<PodObject> podWatch;
  private final Map<String, NodeConnection> connections = new HashMap<>();
  private final Map<String, String> configs = new HashMap<>();
  private @Nullable ExtenderCore core;
  private @Nullable SimulatedLeadership leadership;
  private @Nullable SimulatedStreams streams;
  private boolean nodesListed;
  private boolean podsListed;

  ExtenderReplica(World world, String name) {
    super(name, world.queue, world.randoms.of(name));
    this.world = world;
    this.random = world.randoms.of(name + " delays");
    this.nodeWatch =
        new Watch<>(world, this, world.api.nodes, node -> true, new NodeSink()).repeating();
    this.podWatch =
        new Watch<>(world, this, world.api.pods, pod -> true, new PodSink()).repeating();
  }

  ExtenderCore core() {
    return Objects.requireNonNull(core);
  }

  private SimulatedLeadership leadership() {
    return Objects.requireNonNull(leadership);
  }

  boolean leads() {
    return running() && core != null && core().readiness.notDeciding().isEmpty();
  }

  /** Whether it takes itself for the leader, and may know too little to decide. */
  boolean believesToLead() {
    return running() && leadership != null && leadership().missing().isEmpty();
  }

  @Override
  void start() {
    super.start();
    connections.clear();
    configs.clear();
    nodesListed = false;
    podsListed = false;
    leadership = new SimulatedLeadership(name + "-" + incarnation(), this::clockMs, this::wallMs);
    core =
        new ExtenderCore(
            new ExtenderCore.Given(
                world.scenario.policy(),
                this::clockMs,
                since1970Ms -> since1970Ms - wallMs() + clockMs(),
                new Loop(task -> run(0, task)),
                this::run,
                this,
                new ApiCalls(world, this, random)));
    core().readiness.closeWhile(leadership()::missing, leadership()::term);
    streams =
        new SimulatedStreams(this::clockMs, core().state::reported, task -> run(BATCH_MS, task));
    world.history.add(name, "starts");
    nodeWatch.start();
    every(TICK_MS, core()::tick);
    every(1_000, this::sweep);
    run(random.nextInt((int) LEASE_RETRY_MS), this::elect);
  }

  @Override
  void kill() {
    super.kill();
    connections.values().forEach(NodeConnection::extenderEnded);
    connections.clear();
    world.history.add(name, "is killed");
  }

  void breakWatches(boolean tooOld) {
    podWatch.breakOff(tooOld);
    if (random.nextBoolean()) {
      nodeWatch.breakOff(tooOld);
    }
  }

  void delayWatches(long forMs) {
    podWatch.delay(forMs);
    if (random.nextBoolean()) {
      nodeWatch.delay(forMs);
    }
  }

  // --- watches ---

  private final class NodeSink implements Watch.Sink<NodeObject> {
    @Override
    public void seen(NodeObject node) {
      core().state.apply(new Event.NodeSeen(node.facts()));
    }

    @Override
    public void gone(NodeObject node) {
      core().state.apply(new Event.NodeGone(node.name()));
    }

    @Override
    public void listed() {
      if (!nodesListed) {
        nodesListed = true;
        podWatch.start();
      }
    }
  }

  private final class PodSink implements Watch.Sink<PodObject> {
    @Override
    public void seen(PodObject pod) {
      core().state.apply(new Event.PodSeen(pod.facts()));
    }

    @Override
    public void gone(PodObject pod) {
      core().state.apply(new Event.PodGone(pod.uid(), pod.key()));
    }

    @Override
    public void listed() {
      if (!podsListed) {
        podsListed = true;
        core().readiness.synced();
        core().state.apply(new Event.Synced());
        core().budgets.listed();
      }
    }
  }

  // --- leader election ---

  private void elect() {
    long beganMs = clockMs();
    long beganWallMs = wallMs();
    world.network.<Optional<ApiModel.LeaseObject>>call(
        this,
        world.api,
        LEASE_CALL_MS,
        answer -> answer.accept(Optional.ofNullable(world.api.lease())),
        read ->
            read.ifPresentOrElse(
                found -> leaseRead(found, beganMs, beganWallMs), this::leaseCallFailed));
  }

  private void leaseRead(Optional<ApiModel.LeaseObject> found, long beganMs, long beganWallMs) {
    boolean led = believesToLead();
    var round =
        leadership().read(found.map(ApiModel.LeaseObject::spec).orElse(null), beganMs, beganWallMs);
    if (round.isEmpty()) {
      if (led) {
        world.history.add(name, "stops leading");
        world.retired(this);
      }
      electLater();
      return;
    }
    long readVersion = found.map(ApiModel.LeaseObject::version).orElse(0L);
    world.network.<Boolean>call(
        this,
        world.api,
        LEASE_CALL_MS,
        answer -> answer.accept(world.api.writeLease(round.get().spec(), readVersion)),
        written -> {
          if (written.orElse(false)) {
            leaseWritten(round.get());
            electLater();
          } else {
            leaseCallFailed();
          }
        });
  }

  private void leaseWritten(SimulatedLeadership.Round round) {
    if (leadership().written(round)) {
      world.history.add(name, "leads");
      world.won(this);
    }
  }

  private void leaseCallFailed() {
    leadership().unreachable();
    electLater();
  }

  private void electLater() {
    run(LEASE_RETRY_MS + random.nextInt((int) LEASE_RETRY_MS / 4), this::elect);
  }

  // --- streams ---

  /** A node's plugin has opened a stream. */
  void opened(NodeConnection connection) {
    SimulatedStreams at = Objects.requireNonNull(streams);
    connection.accepted(at.open(connection.node(), () -> connection.closed), clockMs());
  }

  /** A report has come; the first one of a stream takes the node's place. */
  void received(NodeConnection connection, NodeReport report) {
    if (connection.closed) {
      return;
    }
    NodeConnection before = connections.get(connection.node());
    if (before != connection && !connection.reported) {
      connections.put(connection.node(), connection);
      if (before != null) {
        before.close("the node has opened a newer stream");
      }
      send(connection, NodeDirective.newBuilder(), UNATTENDED_ACK_MS);
    }
    connection.reported(report, clockMs());
  }

  /** A stream has ended. */
  void lost(NodeConnection connection) {
    if (connections.remove(connection.node(), connection)) {
      run(BATCH_MS, () -> core().state.apply(new Event.StreamLost(connection.node())));
    }
  }

  private void sweep() {
    long deadlineMs = clockMs() - SILENCE_MS;
    for (NodeConnection connection : new LinkedHashMap<>(connections).values()) {
      if (connection.lastReportMs < deadlineMs) {
        connection.close("no report for 15 s");
      }
    }
  }

  private Future<Void> send(
      NodeConnection connection, NodeDirective.Builder directive, long ackWithinMs) {
    String config = configs.get(connection.node());
    if (config != null) {
      directive.setConfigName(config);
    }
    return connection.send(directive, ackWithinMs);
  }

  @Override
  public Future<Void> assign(String node, Assignment assignment) {
    NodeConnection connection = connections.get(node);
    Promise<Void> done = Promise.promise();
    Future<Void> sent =
        connection == null
            ? Future.failedFuture("it has no open stream")
            : send(connection, SimulatedStreams.assign(assignment), ACK_WITHIN_MS);
    var _ =
        sent.onComplete(
            result -> {
              run(0, () -> done.handle(result));
              if (result.succeeded()) {
                world.assignmentDone(this);
              }
            });
    return done.future();
  }

  @Override
  public void configure(String node, String config) {
    String before = configs.put(node, config);
    NodeConnection connection = connections.get(node);
    if (connection != null && !config.equals(before)) {
      var _ = send(connection, NodeDirective.newBuilder(), UNATTENDED_ACK_MS);
    }
  }

  @Override
  public void forget(String node) {
    configs.remove(node);
  }

  @Override
  public void retract(String node, String uid) {
    NodeConnection connection = connections.get(node);
    if (connection != null) {
      var _ = send(connection, SimulatedStreams.retract(uid), UNATTENDED_ACK_MS);
    }
  }
}
