package dev.tranche.extender.verb;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.controller.MistakeEvents;
import dev.tranche.extender.controller.NodeLabels;
import dev.tranche.extender.controller.PodRules;
import dev.tranche.extender.controller.PodScan;
import dev.tranche.extender.explain.Inspector;
import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.http.Body;
import dev.tranche.extender.http.ExtenderReader;
import dev.tranche.extender.http.ExtenderV1.MalformedException;
import dev.tranche.extender.http.ExtenderWriter;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.load.Readings;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.preempt.Budget;
import dev.tranche.extender.readapi.row.Explain;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.snapshot.NodeSnapshot;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import java.lang.reflect.Proxy;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Measures the longest turn on the loop that decides, for each kind of request and event, in a
 * cluster of 5,000 nodes of 8 GPUs. Times are of this thread's CPU, so that neither other processes
 * nor the garbage collector count. It is no test of the build; docs/benchmark-log.md has figures
 * and the command that runs it.
 */
final class LoopTurns extends TurnTimes {
  private static final int NODES = 5_000;
  private static final int GPUS = 8;
  private static final int PENDING = 20_000;
  private static final int MINIMAL = 100_000;
  private static final int TERMINATING = 5_000;
  private static final int BINDS = 500;
  private static final long GIB = 1L << 30;

  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final Random random = new Random(7);
  private final Deque<Runnable> later = new ArrayDeque<>();
  private final List<String> names = new ArrayList<>();

  /** So many pending pods have been bound. */
  private int bound;

  @Test
  void turns() {
    world.ticks = true;
    cluster();
    heap("5,000 nodes, 40,000 bound and 20,000 pending pods");
    requests();
    // The first round is the compiler's.
    turnsNs.keySet().removeIf(kind -> !kind.startsWith("event"));
    requests();
    heap("after all kinds of requests");
    hostile();
    print();
    // The rest is for the streams of the nodes, and for bodies and connections.
    assertThat(used()).isLessThan(Runtime.getRuntime().maxMemory() * 2 / 3);
  }

  private void requests() {
    clock();
    filters();
    readers();
    packedAndPrioritize();
    preemption();
    bodies();
    binds();
    IntStream.range(0, 6).forEach(i -> lists());
    leadership();
  }

  // --- the cluster ---

  private void cluster() {
    for (int n = 0; n < NODES; n++) {
      names.add("gpu-node-%04d.europe-west4.example".formatted(n));
    }
    for (String node : names) {
      world.packing.nodeSeen(node, new HostRequest(128_000, 1 << 20));
      run(
          "event: a Node",
          () -> world.state.apply(new Event.NodeSeen(new NodeFacts(node, Set.of(), "", true))));
    }
    for (int n = 0; n < NODES; n++) {
      for (int gpu = 0; gpu < GPUS; gpu++) {
        PodFacts pod = bound(n, gpu);
        run("event: a bound Pod", () -> world.state.apply(new Event.PodSeen(pod)));
      }
    }
    for (int i = 0; i < PENDING; i++) {
      PodFacts pod = pod("ns" + i % 50, "pending-" + i, 3, "main");
      run("event: a pending Pod", () -> world.state.apply(new Event.PodSeen(pod)));
    }
    for (int n = 0; n < NODES; n++) {
      int node = n;
      NodeState state = state(node);
      run("event: a first report", () -> report(node, state));
    }
    for (int n = 0; n < NODES; n++) {
      int node = n;
      NodeState state = state(node);
      run("event: a report", () -> report(node, state));
    }
    for (int i = 0; i < 6; i++) {
      turn("readiness: have all nodes reported", world.ledger::allReported);
    }
  }

  private static String uuid(int node, int gpu) {
    return "GPU-%08d-aaaa-bbbb-cccc-%012d".formatted(node, gpu);
  }

  private static PodFacts pod(String namespace, String name, int replicas, String container) {
    var annotations = new HashMap<String, String>();
    annotations.put(Names.GPU_FRACTION, "0." + replicas);
    annotations.put(Names.REPLICAS_PER_GPU, "10");
    var request = new Demand.Request(container, Demand.Kind.APP, replicas);
    return new PodFacts(
        "uid-of-" + name + "-0000-1111-2222",
        namespace,
        name,
        null,
        false,
        false,
        Names.RESOURCE,
        List.of(request),
        annotations);
  }

  /** One to nine replicas, so that the nodes differ. */
  private static int held(int node, int gpu) {
    return 1 + (node * 7 + gpu * 3 + node / 9) % 6;
  }

  private PodFacts bound(int node, int gpu) {
    int replicas = held(node, gpu);
    PodFacts pod = pod("ns" + node % 50, "bound-" + node + "-" + gpu, replicas, "main");
    var annotations = new HashMap<>(pod.annotations());
    annotations.put(Names.GPU, uuid(node, gpu));
    return new PodFacts(
            pod.uid(),
            pod.namespace(),
            pod.name(),
            names.get(node),
            false,
            true,
            pod.resource(),
            pod.requests(),
            annotations)
        .with(new PreemptionInfo(gpu % 3, Map.of("app", "a" + gpu), 1, false, null));
  }

  private NodeState state(int node) {
    var gpus = new ArrayList<GpuFacts>();
    var holdings = new HashMap<String, Map<String, Map<String, Integer>>>();
    for (int gpu = 0; gpu < GPUS; gpu++) {
      String uuid = uuid(node, gpu);
      gpus.add(
          new GpuFacts(uuid, gpu, "NVIDIA H100", Names.RESOURCE, 10, 80 * GIB, true, "", 0, "", 0));
      String key = "ns" + node % 50 + "/bound-" + node + "-" + gpu;
      holdings.put(key, Map.of("main", Map.of(uuid, held(node, gpu))));
    }
    return new NodeState(true, gpus, holdings, true, Map.of(), List.of());
  }

  private void report(int node, NodeState state) {
    var readings = new HashMap<String, LoadReading>();
    for (int gpu = 0; gpu < GPUS; gpu++) {
      String key = "ns" + node % 50 + "/bound-" + node + "-" + gpu;
      double sm = random.nextDouble();
      readings.put(
          uuid(node, gpu),
          Readings.of(GIB, sm, 1, world.nowMs(), Map.of(key, GIB), Map.of(key, sm)));
    }
    world.state.reported(new Event.Reported(names.get(node), state, OptionalLong.of(0)), readings);
  }

  // --- the clock ---

  private void clock() {
    var labels =
        new NodeLabels(
            (node, patch) -> Future.succeededFuture(),
            () -> true,
            node -> true,
            world::nowMs,
            new NodeRate("labels", NodeLabels.RATE, world::nowMs, world.metrics),
            world.failures);
    Map<String, String> known =
        Map.of(Names.RESOURCE + ".count", "8", Names.LABEL_REPLICAS_PER_GPU, "10");
    names.forEach(node -> labels.seen(node, "1", known, ""));
    var outdated =
        new PodScan(
            PodRules.outdatedShare(
                () -> names.stream().flatMap(node -> world.ledger.gpus(node).stream())),
            world.ledger::pods,
            new MistakeEvents(event -> Future.succeededFuture(), () -> true, world.metrics),
            () -> true,
            world::nowMs);
    for (int i = 0; i < 8; i++) {
      run("clock: four times a second", world::tick);
      run("clock: labels of nodes", labels::everyTenSeconds);
      run("clock: shares of an earlier number of replicas", outdated::everyTenSeconds);
    }
  }

  // --- filter ---

  private void filters() {
    Filter filter = world.filter(new RecentlyFilteredPods(), 64, later::add);
    for (int i = 0; i < 12; i++) {
      PodFacts pod = pod("ns", "cold-" + i, 1 + i % 3, "cold-" + i);
      filter("filter: a new kind of pod", filter, pod);
      filter("filter: a known kind of pod", filter, pod);
      world.state.apply(new Event.Release(pod.uid()));
    }
    for (int i = 0; i < 8; i++) {
      names.forEach(world.evaluations::forget);
      filter("filter: all nodes have changed", filter, pod("ns", "again-" + i, 2, "main"));
    }
    for (int i = 0; i < 8; i++) {
      PodFacts pod = pod("ns", "large-" + i, 10, "large-" + i);
      filter("filter: refused by all nodes", filter, pod);
    }
    for (int i = 0; i < 8; i++) {
      filter("filter: a pod of many shares", filter, manyShares(i));
    }
    for (int n = 0; n < NODES; n++) {
      PodFacts held = pod("ns", "tentative-" + n, 1, "main");
      world.state.apply(new Event.Reserve(held, names.get(n), on(uuid(n, 0), 1)));
    }
    for (int n = 0; n < TERMINATING; n++) {
      PodFacts pod = bound(n % NODES, n / NODES);
      world.state.apply(new Event.PodSeen(pod.with(terminating(pod.preemption()))));
    }
    for (int i = 0; i < 6; i++) {
      PodFacts pod = pod("ns", "undecided-" + i, 10, "undecided-" + i);
      filter("filter: refused, and pods are ending", filter, pod);
    }
    for (int n = 0; n < NODES; n++) {
      world.state.apply(new Event.Release("uid-of-tentative-" + n + "-0000-1111-2222"));
    }
  }

  private static PreemptionInfo terminating(PreemptionInfo info) {
    return new PreemptionInfo(info.priority(), Map.of(), 1, true, null);
  }

  private static Placement on(String uuid, int replicas) {
    return Placement.of(
        List.of(new Placement.Container("main", List.of(new Placement.Share(uuid, replicas)))));
  }

  /** Shares that fit by their sum, which a long search must find out. */
  private PodFacts manyShares(int number) {
    var requests = new ArrayList<Demand.Request>();
    var annotations = new HashMap<String, String>();
    annotations.put(Names.REPLICAS_PER_GPU, "10");
    for (int i = 0; i < 12 + number % 6; i++) {
      int replicas = 2 + (i * 5 + number) % 4;
      requests.add(new Demand.Request("c" + i, Demand.Kind.APP, replicas));
      annotations.put(Names.GPU_FRACTION_OF + "c" + i, "0." + replicas);
    }
    return new PodFacts(
        "many-" + number,
        "ns",
        "many-" + number,
        null,
        false,
        false,
        Names.RESOURCE,
        requests,
        annotations);
  }

  private void filter(String kind, Filter filter, PodFacts pod) {
    filter(kind, filter, pod, false);
  }

  private void filter(String kind, Filter filter, PodFacts pod, boolean hasNodePreferences) {
    turn(kind, () -> filter.inTurns(pod, names, hasNodePreferences));
    while (!later.isEmpty()) {
      run(kind, later.remove());
    }
  }

  // --- readers ---

  private void readers() {
    var inspector = new Inspector(world.ledger, world.loads, world.evaluations);
    for (int i = 0; i < 6; i++) {
      for (int n = 0; n < NODES; n++) {
        report(n, state(n));
      }
      boolean more = true;
      while (more) {
        more =
            turn("page: nodes read ahead", () -> inspector.readAhead(world.nowMs(), Instant.now()));
      }
      turn("page: a snapshot", () -> inspector.inspect(0, world.nowMs(), Instant.now()));
    }
    Explain explain = world.explain();
    for (int i = 0; i < 8; i++) {
      String pending = "ns" + i % 50 + "/pending-" + i;
      turn("explain: a pending pod", () -> explain.of(pending));
      turn("explain: a pod that nobody knows", () -> explain.of("ns/nobody"));
      PodFacts pod = world.ledger.pod("uid-of-pending-" + i + "-0000-1111-2222").orElseThrow();
      var found = new ArrayList<NodeSnapshot>();
      for (int next = 0; next < NODES; ) {
        int from = next;
        next = turn("explain: nodes", () -> world.evaluator.addSnapshots(pod, names, from, found));
      }
    }
    WhatIf whatIf = world.whatIf();
    for (int i = 0; i < 6; i++) {
      for (PodFacts pod :
          List.of(pod("ns", "if-" + i, 10, "if-" + i), manyShares(i), pod("ns", "if2", 2, "m"))) {
        var question =
            new WhatIf.Question(
                pod,
                new HostRequest(1_000, 1_000),
                node -> Optional.empty(),
                world.snapshots(pod),
                i % 2 == 0 ? 1 : 20);
        whatIf.answer(
            question,
            new WhatIf.OnLoop() {
              @Override
              public <T> T call(Supplier<T> task) {
                return turn("what-if", task);
              }
            });
      }
    }
  }

  // --- prioritize, bind ---

  private void packedAndPrioritize() {
    Filter filter = world.filter(new RecentlyFilteredPods(), 64, later::add);
    Prioritize prioritize = world.prioritize();
    for (int i = 0; i < 8; i++) {
      PodFacts pod = pod("ns", "scored-" + i, 2, "scored-" + i);
      turn("prioritize: a new kind of pod", () -> prioritize.prioritize(pod, names));
      turn("prioritize: a known kind of pod", () -> prioritize.prioritize(pod, names));
      world.state.apply(new Event.Release(pod.uid()));
    }
    for (int i = 0; i < 12; i++) {
      PodFacts base = pod("ns", "packed-" + i, 1 + i % 9, "main");
      var annotations = new HashMap<>(base.annotations());
      annotations.put(Names.GPU_PLACEMENT, "packed");
      PodFacts pod =
          new PodFacts(
              base.uid(),
              "ns",
              base.name(),
              null,
              false,
              false,
              base.resource(),
              base.requests(),
              annotations);
      filter.requested(pod.uid(), new HostRequest(1_000L * (i % 7), 1_000L * (i % 5)));
      filter("filter: policy packed", filter, pod, true);
      turn("prioritize: policy packed", () -> prioritize.prioritize(pod, names));
      world.state.apply(new Event.Release(pod.uid()));
    }
  }

  // --- preemption ---

  private void preemption() {
    world.budgets.listed();
    for (int i = 0; i < 64; i++) {
      var values = new HashSet<String>();
      for (int v = 0; v < 200; v++) {
        values.add("v" + v);
      }
      world.budgets.put(
          new Budget(
              "ns1",
              "b" + i,
              List.of(new Budget.Requirement("app", "NotIn", values)),
              0,
              Set.of()));
    }
    Preempt preempt = world.preempt(later::add);
    Filter filter = world.filter(new RecentlyFilteredPods(), 64, later::add);
    for (int i = 0; i < 8; i++) {
      var offered = new HashMap<String, Preempt.VictimUids>();
      for (int n = 0; n < NODES; n++) {
        offered.put(names.get(n), new Preempt.VictimUids(List.of(bound(n, 7).uid()), n % 2));
      }
      PodFacts pod =
          pod("ns", "urgent-" + i, 10, "main")
              .with(new PreemptionInfo(100, Map.of(), 1, false, null));
      turn("preempt", () -> preempt.preempt(pod, offered));
      while (!later.isEmpty()) {
        run("preempt", later.remove());
      }
      filter("filter: with nominated pods", filter, pod("ns", "n" + i, 2, "x"));
    }
  }

  // --- bodies ---

  private void bodies() {
    var reader = new ExtenderReader(List.of(Names.RESOURCE));
    String nodes = "\"" + String.join("\",\"", names) + "\"";
    String head =
        "{\"Pod\":{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\",\"annotations\":{\"a\":\"";
    String tail =
        "\"}},\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"3\"}}}]}},\"NodeNames\":[";
    byte[] usual = (head + tail + nodes + "]}").getBytes(UTF_8);
    byte[] large = (head + "\\u003c".repeat(600_000) + tail + nodes + "]}").getBytes(UTF_8);
    String containers =
        "{\"name\":\"main\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"3\"}}},".repeat(50_000);
    byte[] many =
        (head
                + "\"}},\"spec\":{\"containers\":["
                + containers.substring(0, containers.length() - 1)
                + "]}},\"NodeNames\":["
                + nodes
                + "]}")
            .getBytes(UTF_8);
    for (int i = 0; i < 8; i++) {
      turn("body: 5,000 names", () -> read(reader, usual));
      turn("body: 4 MiB of text", () -> read(reader, large));
      turn("body: 4 MiB of containers", () -> read(reader, many));
    }
    Filter filter = world.filter(new RecentlyFilteredPods(), 0);
    Filter.Answer all = filter.filter(pod("ns", "w", 1, "main"), names, true);
    Filter.Answer none = filter.filter(pod("ns", "w2", 10, "main"), names, true);
    Map<String, Integer> scores = world.prioritize().prioritize(pod("ns", "w", 1, "main"), names);
    for (int i = 0; i < 8; i++) {
      turn("answer: 5,000 nodes fit", () -> ExtenderWriter.filter(all));
      turn("answer: 5,000 nodes refuse", () -> ExtenderWriter.filter(none));
      turn("answer: 5,000 scores", () -> ExtenderWriter.scores(scores));
    }
  }

  private static Object read(ExtenderReader reader, byte[] body) {
    try {
      return reader.args(Body.of(body));
    } catch (MalformedException bug) {
      throw new IllegalStateException(bug);
    }
  }

  // --- binds, new lists after a lost watch, and another leader ---

  private void binds() {
    var recently = new RecentlyFilteredPods();
    Filter filter = world.filter(recently, 64, later::add);
    Bind bind = world.bind(recently, loop());
    for (int i = 0; i < BINDS; i++) {
      PodFacts pod = pod("ns" + bound % 50, "pending-" + bound, 3, "main");
      bound++;
      filter("filter: a known kind of pod", filter, pod);
      String node = names.get((i * 31) % NODES);
      var result = turn("bind: the decision", () -> bind.bind(pod.key(), pod.uid(), node));
      while (!later.isEmpty()) {
        run("bind: acknowledgement and Binding", later.remove());
      }
      assertThat(result.isComplete()).isTrue();
    }
  }

  /** Runs what is put on the loop when it is this thread's turn. */
  private Loop loop() {
    return new Loop(
        (Context)
            Proxy.newProxyInstance(
                Context.class.getClassLoader(),
                new Class<?>[] {Context.class},
                (proxy, method, arguments) -> {
                  @SuppressWarnings("unchecked")
                  var task = (Handler<@Nullable Void>) arguments[0];
                  later.add(() -> task.handle(null));
                  return null;
                }));
  }

  private void lists() {
    for (String node : names) {
      run(
          "list: a Node that is known",
          () -> world.state.apply(new Event.NodeSeen(new NodeFacts(node, Set.of(), "", true))));
    }
    for (int n = 0; n < NODES; n++) {
      for (int gpu = 0; gpu < GPUS; gpu++) {
        PodFacts pod = bound(n, gpu);
        run("list: a bound Pod that is known", () -> world.state.apply(new Event.PodSeen(pod)));
      }
    }
    for (int i = bound; i < PENDING; i++) {
      PodFacts pod = pod("ns" + i % 50, "pending-" + i, 3, "main");
      run("list: a pending Pod that is known", () -> world.state.apply(new Event.PodSeen(pod)));
    }
    run("clock: after a list", world.state::tick);
    run("wake-ups: after a list", world.podWaker::tick);
  }

  private void leadership() {
    for (int i = 0; i < 1_000; i++) {
      PodFacts pod = nominee(i);
      String node = names.get(i * 5);
      var info = new PreemptionInfo(9, Map.of(), 1, false, node);
      run("leader: a nominated Pod", () -> world.state.apply(new Event.PodSeen(pod.with(info))));
    }
    for (int i = 0; i < 8; i++) {
      world.readiness.closeWhile(() -> Optional.of("another leads"), () -> 0);
      run("leader: the clock of one that does not lead", world::tick);
      world.readiness.closeWhile(Optional::empty, () -> 1);
      run("leader: all is listed", () -> world.state.apply(new Event.Synced()));
      run("leader: the clock of one that has begun to lead", world::tick);
      run("leader: plans for nominated pods", world.nominations::planAll);
    }
    for (int i = 0; i < 1_000; i++) {
      PodFacts pod = nominee(i);
      world.state.apply(new Event.PodGone(pod.uid(), pod.key()));
    }
  }

  /** Another pod in each round: one that is gone does not return. */
  private PodFacts nominee(int number) {
    return pod("ns", "nominee-" + bound + "-" + number, 8, "main");
  }

  // --- what tenants may write ---

  private void hostile() {
    long startNs = System.nanoTime();
    for (int i = 0; i < MINIMAL; i++) {
      PodFacts pod = pod("hostile" + i % 7, "minimal-" + i, 1, "c");
      run("event: one of 100,000 pending Pods", () -> world.state.apply(new Event.PodSeen(pod)));
    }
    for (int i = 0; i < 6; i++) {
      run("clock: with 100,000 pending Pods", world::tick);
    }
    System.out.printf("100,000 pending pods: %,d ms%n", (System.nanoTime() - startNs) / 1_000_000);
    heap("100,000 minimal pending pods more");
    String dead = names.getFirst();
    startNs = System.nanoTime();
    int count = 0;
    while (count < MINIMAL && System.nanoTime() - startNs < 30_000_000_000L) {
      PodFacts pod = pod("dead", "dead-" + count, 1, "c").on(dead);
      run(
          "event: one of 100,000 Pods on one node",
          () -> world.state.apply(new Event.PodSeen(pod)));
      count++;
    }
    System.out.printf(
        "%,d pods on one node: %,d ms%n", count, (System.nanoTime() - startNs) / 1_000_000);
    heap(count + " pods on one node more");
    Filter filter = world.filter(new RecentlyFilteredPods(), 64, later::add);
    for (int i = 0; i < 6; i++) {
      run("clock: with 100,000 Pods on one node", world::tick);
      PodFacts pod = pod("ns", "beside-" + i, 2, "beside-" + i);
      filter("filter: with 100,000 Pods on one node", filter, pod);
    }
  }
}
