package dev.tranche.extender;

import dev.tranche.api.node.NodeEvent;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.controller.ApiWriter;
import dev.tranche.extender.controller.ConfigMapEvents;
import dev.tranche.extender.controller.ContradictingLabels;
import dev.tranche.extender.controller.DuplicateAllocations;
import dev.tranche.extender.controller.NodeEventWriter;
import dev.tranche.extender.controller.NodeLabels;
import dev.tranche.extender.controller.NodeUse;
import dev.tranche.extender.controller.NodeUseWriter;
import dev.tranche.extender.controller.OutdatedShares;
import dev.tranche.extender.controller.StartupTaints;
import dev.tranche.extender.controller.UnconvertedNumbers;
import dev.tranche.extender.controller.UnknownCordons;
import dev.tranche.extender.controller.UnmutatedPods;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.NodeView;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.metrics.Failures;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.snapshot.ClusterSnapshot;
import dev.tranche.extender.snapshot.NodeFitCache;
import dev.tranche.extender.stream.ReportListener;
import dev.tranche.extender.watch.WatchedNode;
import dev.tranche.extender.watch.WatchedPod;
import dev.tranche.process.loop.Loop;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.vertx.core.Future;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The components that write labels, annotations, taints and events. Runs on the loop, except {@link
 * #podSeen} and {@link #podGone}.
 */
final class Controllers implements ReportListener {
  private final ApiWriter api;
  private final Supplier<Loop> loop;
  private final Ledger ledger;
  private final LoadCache loads;
  private final NodeFitCache fits;
  private final LongSupplier clockMs;
  private final ExtenderMetrics metrics;
  private final Failures failures;
  private final NodeEventWriter nodeEvents;
  private final NodeLabels nodeLabels;
  private final StartupTaints startupTaints;
  private final NodeUseWriter nodeUses;
  private final UnmutatedPods unmutatedPods;
  private final UnconvertedNumbers unconvertedNumbers;
  private final OutdatedShares outdatedShares;
  private final UnknownCordons unknownCordons;
  private final ContradictingLabels contradictingLabels;
  private final DuplicateAllocations duplicates;

  /**
   * @param loop available once the verbs' verticle is deployed
   * @param deciding whether this extender may decide at all, as a leader does
   */
  Controllers(
      ExtenderConfig config,
      ApiWriter api,
      Supplier<Loop> loop,
      BooleanSupplier deciding,
      Ledger ledger,
      LoadCache loads,
      NodeFitCache fits,
      ExtenderMetrics metrics,
      Failures failures,
      LongSupplier clockMs) {
    this.api = api;
    this.loop = loop;
    this.ledger = ledger;
    this.loads = loads;
    this.fits = fits;
    this.clockMs = clockMs;
    this.metrics = metrics;
    this.failures = failures;
    this.nodeEvents =
        new NodeEventWriter(
            this::writeEvent,
            deciding,
            this::uidOfPod,
            rate("events", NodeEventWriter.RATE),
            configMapEvents(config));
    this.nodeLabels =
        new NodeLabels(
            this::mergePatch,
            deciding,
            this::advertises,
            clockMs,
            rate("labels", NodeLabels.RATE),
            failures);
    this.startupTaints =
        new StartupTaints(
            this::jsonPatch, deciding, clockMs, rate("taints", StartupTaints.RATE), metrics);
    this.nodeUses = nodeUses(config.nodeUseAnnotation(), deciding, metrics);
    this.unmutatedPods =
        new UnmutatedPods(config.schedulerName(), this::writeEvent, deciding, metrics);
    this.unconvertedNumbers =
        new UnconvertedNumbers(
            config.unconvertedNamespaces(),
            config.resources().getFirst(),
            this::writeEvent,
            deciding,
            metrics);
    this.outdatedShares = new OutdatedShares(this::writeEvent, deciding, metrics);
    this.unknownCordons =
        new UnknownCordons(this::writeEvent, deciding, rate("cordon-events", UnknownCordons.RATE));
    this.contradictingLabels =
        new ContradictingLabels(
            this::readNode,
            this::writeEvent,
            deciding,
            rate("label-events", ContradictingLabels.RATE),
            metrics);
    this.duplicates = duplicates(deciding);
  }

  private BiConsumer<String, NodeEvent> configMapEvents(ExtenderConfig config) {
    if (config.configMap().isEmpty()) {
      return (node, event) -> {};
    }
    return new ConfigMapEvents(
            () -> loop.get().completeOnLoop(api.configMap(config.namespace(), config.configMap())),
            this::writeEvent,
            rate("config-events", ConfigMapEvents.RATE))
        ::add;
  }

  private DuplicateAllocations duplicates(BooleanSupplier deciding) {
    return new DuplicateAllocations(
        this::writeEvent,
        deciding,
        this::podsWithGpus,
        rate("duplicates", DuplicateAllocations.RATE),
        clockMs,
        metrics);
  }

  private NodeRate rate(String writer, NodeRate.Limits limits) {
    return new NodeRate(writer, limits, clockMs, metrics);
  }

  private NodeUseWriter nodeUses(
      boolean wanted, BooleanSupplier deciding, ExtenderMetrics metrics) {
    return new NodeUseWriter(
        this::mergePatch,
        deciding,
        node -> wanted && advertises(node),
        ledger::podsPending,
        node ->
            wanted
                ? NodeUse.of(fits.gpus(node, clockMs.getAsLong()), loads, node)
                : Optional.empty(),
        clockMs,
        Instant::now,
        metrics,
        failures);
  }

  @Override
  public void reported(String node, NodeReport whole) {
    nodeEvents.reported(node, whole);
    nodeLabels.reported(node, whole);
    startupTaints.reported(node, whole);
    duplicates.reported(node, whole);
  }

  @Override
  public void reportedAgain(String node) {
    nodeLabels.reportedAgain(node);
    startupTaints.reportedAgain(node);
  }

  void nodeSeen(WatchedNode node) {
    nodeLabels.seen(node.key(), node.resourceVersion(), node.labels(), node.labelsAnnotation());
    startupTaints.seen(node.key(), node.tainted());
    nodeUses.seen(node.key(), node.resourceVersion(), node.useAnnotation());
  }

  void nodeGone(String name) {
    nodeLabels.gone(name);
    startupTaints.gone(name);
    duplicates.nodeGone(name);
    nodeUses.gone(name);
  }

  /** On the informer's thread. */
  void podSeen(WatchedPod pod) {
    unmutatedPods.seen(pod);
    unconvertedNumbers.seen(pod);
  }

  /** On the informer's thread. */
  void podGone(String uid) {
    unmutatedPods.gone(uid);
    unconvertedNumbers.gone(uid);
  }

  void everySecond() {
    failures.task("unmutated pods", unmutatedPods::tick);
    failures.task("unconverted numbers", unconvertedNumbers::tick);
    failures.task("outdated shares", outdatedShares::tick);
    failures.task("duplicates", duplicates::tick);
    failures.task("node uses", nodeUses::tick);
  }

  /** Each check goes through all pods or all nodes, and has a turn of its own. */
  void everyTenSeconds() {
    long nowMs = clockMs.getAsLong();
    turn("outdated shares", () -> outdatedShares.check(ledger.pods(), this::gpus, nowMs));
    turn("cordons", () -> unknownCordons.check(cordons(nowMs)));
    turn("labels", nodeLabels::tick);
    turn("contradictions", () -> contradictingLabels.check(nodeLabels.contradictions()));
  }

  private void turn(String name, Runnable check) {
    loop.get().run(() -> failures.task(name, check));
  }

  private Stream<GpuFacts> gpus() {
    return ledger.nodes().stream().flatMap(node -> ledger.gpus(node).stream());
  }

  /** Returns the cordons of nodes that report; the GPUs of other nodes are not known. */
  private List<UnknownCordons.Cordons> cordons(long nowMs) {
    var cordons = new ArrayList<UnknownCordons.Cordons>();
    for (String node : ledger.nodes()) {
      Set<String> cordoned = ledger.node(node).map(NodeFacts::cordoned).orElse(Set.of());
      if (!cordoned.isEmpty()) {
        ClusterSnapshot.NodeGpus now = fits.nodeGpus(node, nowMs);
        if (now.availability() == NodeView.Availability.AVAILABLE) {
          Set<String> gpus = now.gpus().stream().map(GpuView::uuid).collect(Collectors.toSet());
          cordons.add(new UnknownCordons.Cordons(node, cordoned, gpus));
        }
      }
    }
    return cordons;
  }

  private Future<?> writeEvent(Event event) {
    return loop.get().completeOnLoop(api.event(event));
  }

  private Future<Node> readNode(String name) {
    return loop.get().completeOnLoop(api.node(name));
  }

  private Future<?> mergePatch(String node, String patch) {
    return loop.get().completeOnLoop(api.patchNode(node, PatchType.JSON_MERGE, patch));
  }

  private Future<?> jsonPatch(String node, String patch) {
    return loop.get().completeOnLoop(api.patchNode(node, PatchType.JSON, patch));
  }

  /**
   * Whether the node may advertise our resources. True for an unknown node, so that nothing is
   * removed from it.
   */
  private boolean advertises(String node) {
    return ledger.node(node).map(NodeFacts::advertises).orElse(true);
  }

  /** Returns the uids of pods that hold GPUs on a node, by {@code namespace/name}. */
  private Map<String, String> podsWithGpus(String node) {
    return ledger.holds(node).stream()
        .filter(hold -> hold.stage() == Hold.Stage.BOUND)
        .collect(Collectors.toMap(Hold::key, Hold::uid, (one, other) -> one));
  }

  private Optional<String> uidOfPod(String node, String key) {
    return ledger.holds(node).stream()
        .filter(hold -> hold.key().equals(key))
        .flatMap(hold -> ledger.pod(hold.uid()).stream())
        .filter(pod -> node.equals(pod.node()))
        .map(PodFacts::uid)
        .findFirst();
  }
}
