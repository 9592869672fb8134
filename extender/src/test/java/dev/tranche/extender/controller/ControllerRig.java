package dev.tranche.extender.controller;

import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.watch.TaintedNode;
import dev.tranche.extender.watch.WatchedNode;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.Function;

/** What a controller works with: a world without nodes, and an API server that remembers. */
public final class ControllerRig implements ApiWrites {
  private static final AtomicInteger VERSIONS = new AtomicInteger();

  public final FakeWorld world;
  public final List<Event> created = new ArrayList<>();

  /** Of events and patches. */
  Future<?> answer = Future.succeededFuture();

  boolean deciding = true;
  final List<String> patches = new ArrayList<>();
  BiFunction<String, String, Future<?>> patched =
      (node, patch) -> {
        patches.add(patch);
        return answer;
      };
  Function<String, Future<Optional<ObjectReference>>> configMaps =
      name -> Future.succeededFuture(Optional.empty());

  public final ControllerContext context;

  public ControllerRig() {
    this(world());
  }

  public ControllerRig(FakeWorld world) {
    this.world = world;
    context = new ControllerContext(world.core, world.readiness, this, world.metrics);
    world.readiness.portsOpened();
    world.readiness.closeWhile(
        () -> deciding ? Optional.empty() : Optional.of("another leads"), () -> 0);
  }

  /** Its clock begins at 0, when nobody waits for the nodes' first reports any more. */
  private static FakeWorld world() {
    var world = new FakeWorld(Policy.LOAD);
    world.nowMs += ReadinessGate.FIRST_REPORTS_MS;
    world.readiness.awaitingFirstReports();
    world.nowMs = 0;
    return world;
  }

  /** A Node whose version is another one each time. */
  public static WatchedNode node(
      String name, Map<String, String> labels, String labelsAnnotation, String useAnnotation) {
    return new WatchedNode(
        name,
        Integer.toString(VERSIONS.incrementAndGet()),
        new NodeFacts(name, Set.of(), "", true),
        HostRequest.NONE,
        labels,
        labelsAnnotation,
        useAnnotation,
        Optional.<TaintedNode>empty(),
        Optional.empty());
  }

  /** The watch shows a Node, first to the context and then to a controller. */
  void seen(Controller controller, WatchedNode node) {
    context.nodes().nodeSeen(node);
    controller.nodeSeen(node);
  }

  void gone(Controller controller, String node) {
    context.nodes().nodeGone(node);
    controller.nodeGone(node);
  }

  /** Returns how many pods the metric counts. */
  double mistaken(PodMistake mistake) {
    return world
        .registry
        .get("tranche.extender.mistaken.pods")
        .tag("mistake", mistake.reason)
        .gauge()
        .value();
  }

  /** The kubelet offers GPUs, or none any more. */
  void advertises(String node, boolean gpus) {
    world.state.apply(
        new dev.tranche.extender.ledger.Event.NodeSeen(new NodeFacts(node, Set.of(), "", gpus)));
  }

  @Override
  public Future<?> patchNode(String node, PatchType type, String patch) {
    return patched.apply(node, patch);
  }

  @Override
  public Future<?> event(Event event) {
    created.add(event);
    return answer;
  }

  @Override
  public Future<?> podEvent(Event event) {
    return event(event);
  }

  @Override
  public Future<Optional<ObjectReference>> configMap(String namespace, String name) {
    return configMaps.apply(name);
  }
}
