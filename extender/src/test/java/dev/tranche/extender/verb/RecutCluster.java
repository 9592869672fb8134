package dev.tranche.extender.verb;

import dev.tranche.api.Demand;
import dev.tranche.api.GpuPart;
import dev.tranche.api.Names;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuLoad;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.node.Health;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.PodUse;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.NodeView;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.TestFacts;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.stream.ReportReader;
import dev.tranche.process.loop.Loop;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * Nodes whose configs change while pods come and go, in an order that a seed decides. The extender
 * is ours: reports, Ledger, filter and bind. Reports come up to ten seconds late, and so do the API
 * server's events. A model of the node grants whatever it is assigned in its present number of
 * replicas, so nothing but the extender keeps a GPU from being granted twice.
 */
final class RecutCluster {
  private static final int NODES = 2;
  private static final int GPUS = 2;
  private static final int REPORT_LATE_MS = 10_000;
  private static final int WATCH_LATE_MS = 2_000;
  private static final int LIST_EVERY_MS = 2_000;
  private static final long STALE_MS = 5_000;
  private static final long USABLE = 80L << 30;
  private static final int[] REPLICAS = {1, 2, 3, 4, 5, 7, 10, 12, 48};
  private static final List<String> RESOURCES = List.of(Names.RESOURCE, "nvidia.com/gpu.shared");

  private record Timed<T>(long atMs, T what) {}

  /** What the node has granted. */
  private record Grant(String key, String resource, String uuid, int count, int of) {
    GpuPart part() {
      return GpuPart.of(count, of);
    }
  }

  private static final class ModelGpu {
    final String uuid;
    int replicas = 10;
    int clientsMax;
    String resource = Names.RESOURCE;

    ModelGpu(String uuid) {
      this.uuid = uuid;
    }
  }

  private final class ModelNode {
    final String name;
    final List<ModelGpu> gpus = new ArrayList<>();
    final Map<String, Assignment> kept = new LinkedHashMap<>();
    final Map<String, Grant> running = new LinkedHashMap<>();

    /** Ended, but the plugin may still count it. */
    final Deque<Timed<Grant>> stale = new ArrayDeque<>();

    final Deque<Timed<NodeReport>> onTheWay = new ArrayDeque<>();
    List<Grant> listed = List.of();
    long listedAtMs;

    ModelNode(String name) {
      this.name = name;
      for (int i = 0; i < GPUS; i++) {
        gpus.add(new ModelGpu(name + "-gpu-" + i));
      }
    }

    ModelGpu gpu(String uuid) {
      return gpus.stream().filter(g -> g.uuid.equals(uuid)).findFirst().orElseThrow();
    }

    GpuPart granted(String uuid) {
      return sum(running.values().stream().filter(g -> g.uuid().equals(uuid)).toList());
    }

    boolean earlier(ModelGpu gpu, Grant grant) {
      return grant.of() != gpu.replicas || !grant.resource().equals(gpu.resource);
    }

    private List<Grant> held(ModelGpu gpu) {
      List<Grant> held = new ArrayList<>(running.values());
      stale.forEach(ended -> held.add(ended.what()));
      held.removeIf(grant -> !grant.uuid().equals(gpu.uuid));
      return held;
    }

    int withheld(ModelGpu gpu) {
      List<Grant> held = held(gpu).stream().filter(grant -> earlier(gpu, grant)).toList();
      return Math.min(gpu.replicas, sum(held).replicas(gpu.replicas));
    }

    void list() {
      listed = List.copyOf(running.values());
      listedAtMs = nowMs;
      stale.removeIf(ended -> ended.atMs() + STALE_MS <= nowMs);
      listed.forEach(grant -> kept.values().removeIf(a -> a.key().equals(grant.key())));
      send();
    }

    void send() {
      long last = onTheWay.isEmpty() ? 0 : onTheWay.getLast().atMs();
      int lateMs = random.nextInt(4) == 0 ? REPORT_LATE_MS : 300;
      onTheWay.add(new Timed<>(Math.max(last, nowMs + random.nextInt(lateMs)), report()));
    }

    NodeReport report() {
      var report =
          NodeReport.newBuilder()
              .setSentAtMs(nowMs)
              .setRegistered(true)
              .setHoldingsKnown(true)
              .setHoldingsAgeMs((int) (nowMs - listedAtMs));
      for (ModelGpu gpu : gpus) {
        report.addGpus(
            Gpu.newBuilder()
                .setUuid(gpu.uuid)
                .setIndex(gpus.indexOf(gpu))
                .setModel("H100")
                .setMemoryTotalBytes(USABLE)
                .setResource(gpu.resource)
                .setReplicas(gpu.replicas)
                .setShared(gpu.replicas > 1)
                .setMaxClients(gpu.clientsMax)
                .setHealth(Health.HEALTH_HEALTHY)
                .setWithheldReplicas(withheld(gpu))
                .setLoad(load(gpu))
                .addAllPodUses(uses(gpu)));
      }
      listed.forEach(grant -> report.addHoldings(holding(grant)));
      kept.values().forEach(assignment -> report.addAssignments(echo(assignment)));
      return report.build();
    }

    private GpuLoad load(ModelGpu gpu) {
      long used = uses(gpu).stream().mapToLong(PodUse::getMemoryUsedBytes).sum();
      return GpuLoad.newBuilder().setSampledAtMs(nowMs).setMemoryUsedBytes(used).build();
    }

    /** Each pod uses all the memory that it was granted. */
    private List<PodUse> uses(ModelGpu gpu) {
      return running.values().stream()
          .filter(grant -> grant.uuid().equals(gpu.uuid))
          .map(
              grant ->
                  PodUse.newBuilder()
                      .setNamespace("ns")
                      .setPod(grant.key().substring(3))
                      .setContainer("main")
                      .setMemoryUsedBytes(grant.part().of(USABLE))
                      .build())
          .toList();
    }
  }

  private static Holding holding(Grant grant) {
    var holding =
        Holding.newBuilder()
            .setNamespace("ns")
            .setPod(grant.key().substring(3))
            .setContainer("main")
            .setResource(grant.resource())
            .setReplicasPerGpu(grant.of());
    for (int k = 0; k < grant.count(); k++) {
      holding.addDeviceIds(grant.of() == 1 ? grant.uuid() : grant.uuid() + "::" + k);
    }
    return holding.build();
  }

  private static dev.tranche.api.node.Assignment echo(Assignment assignment) {
    var echo =
        dev.tranche.api.node.Assignment.newBuilder()
            .setPodUid(assignment.uid())
            .setNamespace("ns")
            .setPod(assignment.key().substring(3))
            .setResource(assignment.resource())
            .setReplicasPerGpu(assignment.replicasPerGpu());
    for (Placement.Container container : assignment.placement().containers()) {
      var named = ContainerAssignment.newBuilder().setContainer(container.name());
      container
          .shares()
          .forEach(
              s ->
                  named.addShares(
                      GpuShare.newBuilder().setUuid(s.uuid()).setReplicas(s.replicas())));
      echo.addContainers(named);
    }
    return echo.build();
  }

  private static GpuPart sum(List<Grant> grants) {
    return grants.stream().map(Grant::part).reduce(GpuPart.NONE, GpuPart::plus);
  }

  private final Random random;
  private final Loop loop;
  private final List<ModelNode> nodes = new ArrayList<>();
  private final Map<String, PodFacts> api = new LinkedHashMap<>();
  private final Deque<Timed<Event>> watch = new ArrayDeque<>();
  private final Deque<Timed<PodFacts>> toAdmit = new ArrayDeque<>();
  private final List<String> history = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();
  private FakeWorld world = new FakeWorld(Policy.PACKED);
  private FakeWorld.FilterNow filter = world.filter();
  private Bind bind;
  private long nowMs = 100_000;
  private int created;
  private int placed;
  private int mixed;

  RecutCluster(long seed, Loop loop) {
    this.random = new Random(seed);
    this.loop = loop;
    for (int i = 0; i < NODES; i++) {
      nodes.add(new ModelNode("node-" + i));
    }
    bind = world.bind(loop);
    restart();
  }

  int placed() {
    return placed;
  }

  int mixed() {
    return mixed;
  }

  List<String> failures() {
    return failures;
  }

  String history() {
    return String.join("\n", history.subList(Math.max(0, history.size() - 50), history.size()));
  }

  private void log(String what) {
    history.add(nowMs + " " + what);
  }

  void run(int steps) {
    for (int i = 0; i < steps && failures.isEmpty(); i++) {
      advance(random.nextInt(400));
      switch (random.nextInt(40)) {
        case 0 -> recut();
        case 2 -> {
          if (random.nextInt(6) == 0) {
            restart();
          }
        }
        case 3 -> advance(random.nextInt(12_000));
        case 4, 5, 6, 7, 8, 9, 10, 11 -> end();
        default -> schedule();
      }
    }
  }

  private void advance(long ms) {
    long untilMs = nowMs + ms;
    while (nowMs < untilMs && failures.isEmpty()) {
      nowMs = Math.min(untilMs, nowMs + 100);
      world.nowMs = nowMs;
      while (!watch.isEmpty() && watch.getFirst().atMs() <= nowMs) {
        world.state.apply(watch.removeFirst().what());
      }
      for (ModelNode node : nodes) {
        while (!node.onTheWay.isEmpty() && node.onTheWay.getFirst().atMs() <= nowMs) {
          reported(node, node.onTheWay.removeFirst().what());
        }
        if (nowMs - node.listedAtMs >= LIST_EVERY_MS) {
          node.list();
        }
      }
      while (!toAdmit.isEmpty() && toAdmit.getFirst().atMs() <= nowMs) {
        admit(toAdmit.removeFirst().what());
      }
      for (ModelNode node : nodes) {
        world.retracted.forEach(node.kept::remove);
      }
      world.retracted.clear();
      if (nowMs % 1_000 == 0) {
        world.tick();
      }
    }
  }

  private void reported(ModelNode node, NodeReport report) {
    var reading = ReportReader.read(node.name, report, nowMs);
    world.state.reported(reading.report(), reading.readings());
  }

  /** A new leader has read the API server and gets a whole report from each node. */
  private void restart() {
    log("extender restarts");
    world = new FakeWorld(Policy.PACKED);
    world.nowMs = nowMs;
    filter = world.filter();
    bind = world.bind(loop);
    watch.clear();
    api.values().forEach(pod -> world.state.apply(new Event.PodSeen(pod)));
    for (ModelNode node : nodes) {
      node.onTheWay.clear();
      node.list();
      node.onTheWay.clear();
      reported(node, node.report());
    }
  }

  private void recut() {
    ModelNode node = nodes.get(random.nextInt(NODES));
    boolean all = random.nextBoolean();
    int replicas = REPLICAS[random.nextInt(REPLICAS.length)];
    String resource = RESOURCES.get(random.nextInt(5) == 0 ? 1 : 0);
    int clientsMax = replicas > 1 && random.nextInt(4) == 0 ? 48 : 0;
    for (ModelGpu gpu : node.gpus) {
      if (all || random.nextBoolean()) {
        gpu.replicas = replicas;
        gpu.resource = resource;
        gpu.clientsMax = clientsMax;
      }
    }
    if (random.nextInt(4) == 0) {
      Collections.shuffle(node.gpus, random);
    }
    log(node.name + " has " + replicas + " of " + resource + (all ? "" : " on some GPUs"));
    node.send();
  }

  private void schedule() {
    ModelNode node = nodes.get(random.nextInt(NODES));
    ModelGpu gpu = node.gpus.get(random.nextInt(GPUS));
    int of = random.nextInt(4) == 0 ? 0 : gpu.replicas;
    schedule(gpu.resource, 1 + random.nextInt((gpu.replicas + 2) / 3), of, node.name, null);
  }

  /**
   * @param of R that the pod was sized for; 0: a plain request
   */
  private Optional<String> schedule(
      String resource, int count, int of, String node, @Nullable String onlyOn) {
    String name = "p" + ++created;
    var annotations = new HashMap<String, String>();
    if (of > 0) {
      annotations.put(Names.REPLICAS_PER_GPU, Integer.toString(of));
      annotations.put(Names.GPU_FRACTION, count + "/" + of);
    }
    if (onlyOn != null) {
      annotations.put(Names.GPU_UUID, onlyOn);
    }
    var request = new Demand.Request("main", Demand.Kind.APP, count);
    var pod =
        new PodFacts(
            "uid-" + name, "ns", name, null, false, false, resource, List.of(request), annotations);
    world.state.apply(new Event.PodSeen(pod));
    filter.filter(pod, List.of(node), false);
    Optional<String> refused = bind.bind(pod.key(), pod.uid(), node).await();
    if (refused.isPresent()) {
      world.state.apply(new Event.PodGone(pod.uid(), pod.key()));
      return refused;
    }
    Assignment assignment = world.assigned.getLast();
    annotations.put(Names.GPU, assignment.placement().annotation());
    var bound =
        new PodFacts(
            pod.uid(), "ns", name, node, false, false, resource, List.of(request), annotations);
    log("bound " + count + " of " + of + " for " + name + " on " + annotations.get(Names.GPU));
    node(node).kept.put(pod.uid(), assignment);
    api.put(pod.uid(), bound);
    changed(new Event.PodSeen(bound));
    long last = toAdmit.isEmpty() ? 0 : toAdmit.getLast().atMs();
    toAdmit.add(new Timed<>(Math.max(last, nowMs + random.nextInt(3_000)), bound));
    return refused;
  }

  private ModelNode node(String name) {
    return nodes.stream().filter(n -> n.name.equals(name)).findFirst().orElseThrow();
  }

  private void changed(Event event) {
    long last = watch.isEmpty() ? 0 : watch.getLast().atMs();
    watch.add(new Timed<>(Math.max(last, nowMs + random.nextInt(WATCH_LATE_MS)), event));
  }

  /** The node refuses only what was sized for another number of replicas. */
  private void admit(PodFacts pod) {
    ModelNode node = node(Objects.requireNonNull(pod.node()));
    Assignment assignment = node.kept.get(pod.uid());
    if (assignment == null) {
      failures.add(pod.key() + " has no assignment");
      return;
    }
    var shares = assignment.placement().containers().getFirst().shares();
    ModelGpu gpu = node.gpu(shares.getFirst().uuid());
    boolean fits =
        shares.size() == 1
            && gpu.replicas == assignment.replicasPerGpu()
            && gpu.resource.equals(pod.resource());
    if (!fits) {
      log(pod.key() + " was sized for another number of replicas");
      node.kept.remove(pod.uid());
      finished(pod);
      return;
    }
    int count = shares.getFirst().replicas();
    GpuPart before = node.granted(gpu.uuid);
    boolean beside =
        node.running.values().stream()
            .anyMatch(g -> g.uuid().equals(gpu.uuid) && g.of() != gpu.replicas);
    node.running.put(
        pod.uid(), new Grant(pod.key(), pod.resource(), gpu.uuid, count, gpu.replicas));
    placed++;
    mixed += beside ? 1 : 0;
    log("granted " + count + " of " + gpu.replicas + " of " + gpu.uuid + " to " + pod.key());
    if (node.granted(gpu.uuid).exceedsOneGpu()) {
      failures.add(
          "%s of %s was granted, and %s then got %d/%d"
              .formatted(before, gpu.uuid, pod.key(), count, gpu.replicas));
    }
    var runs = TestFacts.running(pod);
    api.put(pod.uid(), runs);
    changed(new Event.PodSeen(runs));
  }

  /** The containers end, then the API server tells. */
  private void end() {
    List<PodFacts> all = api.values().stream().filter(PodFacts::running).toList();
    if (!all.isEmpty()) {
      PodFacts pod = all.get(random.nextInt(all.size()));
      ModelNode node = node(Objects.requireNonNull(pod.node()));
      Grant grant = Objects.requireNonNull(node.running.remove(pod.uid()));
      node.stale.add(new Timed<>(nowMs, grant));
      log(pod.key() + " ends");
      finished(pod);
    }
  }

  private void finished(PodFacts pod) {
    api.remove(pod.uid());
    changed(new Event.PodGone(pod.uid(), pod.key()));
  }

  /** All is heard. Then each GPU has as much room as is free, and a pod of that size is placed. */
  void settle() {
    for (int i = 0; i < 4; i++) {
      advance(4_000);
    }
    advance(REPORT_LATE_MS + 70_000);
    for (ModelNode node : nodes) {
      for (ModelGpu gpu : List.copyOf(node.gpus)) {
        checkFree(node, gpu);
      }
    }
  }

  private void checkFree(ModelNode node, ModelGpu gpu) {
    List<Grant> here =
        node.running.values().stream().filter(g -> g.uuid().equals(gpu.uuid)).toList();
    List<Grant> earlier = here.stream().filter(g -> node.earlier(gpu, g)).toList();
    int current = here.stream().filter(g -> !node.earlier(gpu, g)).mapToInt(Grant::count).sum();
    int free = gpu.replicas - sum(earlier).replicas(gpu.replicas) - current;
    int told =
        world.ledger.view(node.name, hold -> true, nowMs).gpus().stream()
            .filter(view -> view.facts().uuid().equals(gpu.uuid))
            .mapToInt(NodeView.Gpu::freeReplicas)
            .findFirst()
            .orElseThrow();
    if (told != free) {
      failures.add(
          "%d of %s are free, told are %d: %s; held are %s"
              .formatted(free, gpu.uuid, told, here, world.ledger.holds(node.name)));
    } else if (free > 0 && (gpu.clientsMax == 0 || here.size() < gpu.clientsMax)) {
      schedule(gpu.resource, free, gpu.replicas, node.name, gpu.uuid)
          .ifPresent(why -> failures.add(free + " of " + gpu.uuid + ": " + why + " " + here));
    }
  }
}
