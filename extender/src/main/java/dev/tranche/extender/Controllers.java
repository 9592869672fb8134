package dev.tranche.extender;

import dev.tranche.api.node.NodeEvent;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.controller.ApiWriter;
import dev.tranche.extender.controller.ConfigMapEvents;
import dev.tranche.extender.controller.Controller;
import dev.tranche.extender.controller.DraLabels;
import dev.tranche.extender.controller.DuplicateAllocations;
import dev.tranche.extender.controller.MistakeEvents;
import dev.tranche.extender.controller.NodeEventWriter;
import dev.tranche.extender.controller.NodeLabels;
import dev.tranche.extender.controller.NodeUse;
import dev.tranche.extender.controller.NodeUseWriter;
import dev.tranche.extender.controller.PodRules;
import dev.tranche.extender.controller.PodScan;
import dev.tranche.extender.controller.StartupTaints;
import dev.tranche.extender.controller.UnknownCordons;
import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.NodeView;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.snapshot.ClusterView;
import dev.tranche.extender.snapshot.NodeFitCache;
import dev.tranche.extender.watch.WatchedNode;
import dev.tranche.extender.watch.WatchedPod;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.meters.Failures;
import io.fabric8.kubernetes.api.model.Event;
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

/** The components that write labels, annotations, taints and events. */
final class Controllers implements Controller {
  private final ApiWriter api;
  private final Supplier<Loop> loop;
  private final BooleanSupplier deciding;
  private final Ledger ledger;
  private final LongSupplier clockMs;
  private final NodeFitCache fits;
  private final ExtenderMetrics metrics;
  private final Failures failures;
  private final List<Controller> all;

  /**
   * @param loop available once the verbs' verticle is deployed
   * @param deciding whether this extender may decide at all, as a leader does
   * @param served the nodes that a DRA driver serves
   * @param waits what finds out why pods wait, and tells their owners
   */
  Controllers(
      ExtenderConfig config,
      ApiWriter api,
      Supplier<Loop> loop,
      BooleanSupplier deciding,
      SchedulingCore core,
      ExtenderMetrics metrics,
      Failures failures,
      Supplier<Optional<Set<String>>> served,
      List<Controller> waits) {
    this.api = api;
    this.loop = loop;
    this.deciding = deciding;
    this.ledger = core.ledger;
    this.clockMs = core.clockMs;
    this.fits = core.fits;
    this.metrics = metrics;
    this.failures = failures;
    var own =
        List.of(
            events(config),
            new NodeLabels(
                this::mergePatch,
                deciding,
                this::advertises,
                clockMs,
                rate("labels", NodeLabels.RATE),
                failures),
            new DraLabels(served, this::mergePatch, deciding, rate("dra-labels", DraLabels.RATE)),
            new StartupTaints(
                this::jsonPatch, deciding, clockMs, rate("taints", StartupTaints.RATE), metrics),
            nodeUses(config, core.loads),
            unknownCordons());
    all =
        Stream.of(own, podMistakes(config, core), waits).<Controller>flatMap(List::stream).toList();
  }

  private NodeEventWriter events(ExtenderConfig config) {
    return new NodeEventWriter(
        this::writeEvent,
        deciding,
        this::uidOfPod,
        rate("events", NodeEventWriter.RATE),
        configMapEvents(config));
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

  private NodeUseWriter nodeUses(ExtenderConfig config, LoadCache loads) {
    boolean wanted = config.nodeUseAnnotation();
    String resource = config.resources().getFirst();
    return new NodeUseWriter(
        this::mergePatch,
        deciding,
        node -> wanted && advertises(node),
        ledger::podsPending,
        node ->
            wanted
                ? NodeUse.of(fits.gpus(node, clockMs.getAsLong()), resource, loads, node)
                : Optional.empty(),
        clockMs,
        Instant::now,
        metrics,
        failures);
  }

  private List<Controller> podMistakes(ExtenderConfig config, SchedulingCore core) {
    var events = new MistakeEvents(this::writeEvent, deciding, metrics);
    Supplier<Stream<GpuFacts>> gpus =
        () -> ledger.nodes().stream().flatMap(node -> ledger.gpus(node).stream());
    String resource = config.resources().getFirst();
    return List.of(
        PodRules.unshared(config.schedulerName(), events),
        PodRules.unconverted(config.unconvertedNamespaces(), resource, events),
        scan(PodRules.outdatedShare(gpus), events),
        scan(PodRules.unknownUuid(gpus), events),
        scan(PodRules.untriedNominee(ledger, core.evaluator, core.explanations), events),
        new DuplicateAllocations(
            events,
            deciding,
            this::podsWithGpus,
            rate("duplicates", DuplicateAllocations.RATE),
            clockMs),
        events);
  }

  private PodScan scan(PodScan.Rule rule, MistakeEvents events) {
    return new PodScan(rule, ledger::pods, events, deciding, clockMs);
  }

  private UnknownCordons unknownCordons() {
    return new UnknownCordons(
        this::cordons, this::writeEvent, deciding, rate("cordon-events", UnknownCordons.RATE));
  }

  private NodeRate rate(String writer, NodeRate.Limits limits) {
    return new NodeRate(writer, limits, clockMs, metrics);
  }

  @Override
  public void reported(String node, NodeReport whole) {
    all.forEach(each -> each.reported(node, whole));
  }

  @Override
  public void reportedAgain(String node) {
    all.forEach(each -> each.reportedAgain(node));
  }

  @Override
  public void nodeSeen(WatchedNode node) {
    all.forEach(each -> each.nodeSeen(node));
  }

  @Override
  public void nodeGone(String node) {
    all.forEach(each -> each.nodeGone(node));
  }

  @Override
  public void podSeen(WatchedPod pod) {
    all.forEach(each -> each.podSeen(pod));
  }

  @Override
  public void podGone(String uid) {
    all.forEach(each -> each.podGone(uid));
  }

  @Override
  public void tick() {
    all.forEach(each -> failures.task(name(each), each::tick));
  }

  /** Each has a turn of its own. */
  @Override
  public void everyTenSeconds() {
    all.forEach(each -> loop.get().run(() -> failures.task(name(each), each::everyTenSeconds)));
  }

  private static String name(Controller controller) {
    return controller.getClass().getName();
  }

  /** Returns the cordons of nodes that report; the GPUs of other nodes are not known. */
  private List<UnknownCordons.Cordons> cordons() {
    long nowMs = clockMs.getAsLong();
    var cordons = new ArrayList<UnknownCordons.Cordons>();
    for (String node : ledger.nodes()) {
      Set<String> cordoned = ledger.node(node).map(NodeFacts::cordoned).orElse(Set.of());
      if (!cordoned.isEmpty()) {
        ClusterView.NodeGpus now = fits.nodeGpus(node, nowMs);
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
