package dev.tranche.simulate;

import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/** Makes go wrong what a scenario says, and ends it in time. */
final class Faults {
  private static final int LATE_MS_MAX = 4_000;

  /** By then the kubelet knows that a GPU is unhealthy. */
  private static final long GPU_KNOWN_MS = 4_000;

  private static final long KILL_RETRY_MS = 1_000;
  private static final long ANY_NODE_AFTER_MS = 20_000;

  /** The plugin keeps retracted assignments for a minute, for a kubelet that lags. */
  private static final long KUBELET_LATE_MS_MAX = 40_000;

  /** These wait for their moment, and count themselves then. */
  private static final Set<Fault.Kind> LATER =
      EnumSet.of(
          Fault.Kind.CRASH_BEFORE_BINDING,
          Fault.Kind.CRASH_AFTER_BINDING,
          Fault.Kind.EXTENDER_KILLED,
          Fault.Kind.SCHEDULER_KILLED,
          Fault.Kind.PLUGIN_KILLED,
          Fault.Kind.PLUGIN_STATE_LOST,
          Fault.Kind.KUBELET_KILLED,
          Fault.Kind.NODE_REMOVED,
          Fault.Kind.GPU_FAULTY_BEFORE_ADMISSION);

  private final World world;
  private final SplittableRandom random;

  Faults(World world) {
    this.world = world;
    this.random = world.randoms.of("faults");
  }

  /** Whether a fault that begins now is over before it is calm. */
  private boolean inTime(Fault fault) {
    return world.queue.nowMs() + 2 * fault.forMs() < world.scenario.calmMs();
  }

  void apply(Fault fault) {
    world.history.add("FAULT", fault.toString());
    begin(fault);
    if (!LATER.contains(fault.kind())) {
      world.counts.count(fault.kind());
    }
  }

  private void begin(Fault fault) {
    ExtenderReplica extender = world.extenders.get(fault.target() % 2);
    SimulatedNode node = world.nodes.get(fault.target() % world.nodes.size());
    long forMs = fault.forMs();
    switch (fault.kind()) {
      case STALE_VIEW -> extender.delayWatches(forMs);
      case ALL_VIEWS_STALE -> {
        world.extenders.forEach(each -> each.delayWatches(forMs));
        world.nodes.stream()
            .filter(each -> random.nextInt(3) > 0)
            .forEach(each -> each.kubelet.watch.delay(Math.min(forMs, KUBELET_LATE_MS_MAX)));
      }
      case UNOBSERVED_STATE -> {
        extender.delayWatches(Math.min(forMs, 5_000));
        world.queue.after(Math.min(forMs, 5_000), () -> extender.breakWatches(true));
      }
      case WATCH_ENDS -> extender.breakWatches(random.nextBoolean());
      case CRASH_BEFORE_BINDING -> world.onAssignment(by -> kill(by, fault));
      case CRASH_AFTER_BINDING -> world.onBinding((by, on, gpu) -> kill(by, fault));
      case EXTENDER_KILLED -> killSoon(extender, fault);
      case EXTENDER_FROZEN -> extender.freeze(forMs);
      case EXTENDER_SUSPENDED -> extender.suspend(forMs);
      case CLOCK_JUMP -> extender.jump(fault.value());
      case SLOW_API -> world.network.slow("api", forMs);
      case ANSWERS_LOST -> {
        world.loseAnswers(forMs);
        if (random.nextBoolean()) {
          // An overloaded API server is late with all that it has to say.
          world.extenders.forEach(each -> each.delayWatches(4 * forMs));
        }
      }
      case OLD_ROUTE -> world.routeToOther();
      case SCHEDULER_KILLED -> killSoon(world.scheduler, fault);
      case SCHEDULER_STALE -> {
        world.scheduler.podWatch.delay(forMs);
        world.queue.after(forMs, () -> world.scheduler.breakWatches(random.nextBoolean()));
      }
      case PARTITION_FROM_API -> world.network.block("api", extender.name, forMs);
      case PARTITION_TO_API -> world.network.block(extender.name, "api", forMs);
      case PARTITION_OF_API -> part(extender.name, "api", forMs);
      case PARTITION_FROM_NODE -> world.network.block(node.plugin.name, extender.name, forMs);
      case PARTITION_TO_NODE -> world.network.block(extender.name, node.plugin.name, forMs);
      case PARTITION_OF_NODE -> part(extender.name, node.plugin.name, forMs);
      default -> ofNode(fault, node);
    }
  }

  private void part(String one, String other, long forMs) {
    world.network.block(one, other, forMs);
    world.network.block(other, one, forMs);
  }

  private void ofNode(Fault fault, SimulatedNode node) {
    long forMs = fault.forMs();
    GpuModel gpu = node.gpus.get(fault.target() % node.gpus.size());
    switch (fault.kind()) {
      case PLUGIN_KILLED -> killSoon(node.plugin, fault);
      case PLUGIN_STATE_LOST -> {
        world.counts.count(Branch.PLUGIN_WITHOUT_STATE);
        killSoon(node.plugin, fault);
        node.plugin.loseState();
      }
      case PLUGIN_FROZEN -> node.plugin.freeze(forMs);
      case KUBELET_KILLED, NODE_REMOVED -> killSoon(node.kubelet, fault);
      case KUBELET_STALE -> {
        node.kubelet.watch.delay(forMs);
        world.queue.after(forMs, () -> node.kubelet.watch.breakOff(random.nextBoolean()));
      }
      case KUBELET_LIST_HANGS -> node.kubelet.hangList(forMs);
      case GPU_FAULTY -> {
        gpu.fail(node.plugin.clockMs());
        world.queue.after(forMs, gpu::recover);
      }
      case GPU_FAULTY_BEFORE_ADMISSION ->
          world.onBinding((by, on, uuids) -> failPromised(on, uuids, fault));
      case GPU_LOST -> lose(node, gpu, forMs);
      case GPU_CORDONED -> {
        cordon(node, Set.of(gpu.uuid));
        world.queue.after(forMs, () -> cordon(node, Set.of()));
      }
      case RECUT -> {
        if (node.kubelet.holdsAny()) {
          world.counts.count(Branch.RECUT_WITH_HELD_IDS);
        }
        // Pods that were bound before may be admitted after it.
        node.kubelet.watch.delay(random.nextInt(LATE_MS_MAX));
        int before = node.plugin.replicas();
        node.plugin.configure(fault.value());
        world.queue.after(2 * forMs, () -> node.plugin.configure(before));
      }
      default -> throw new IllegalStateException("nobody applies " + fault);
    }
  }

  /** At first only a node with another GPU, which the kubelet may then give to the pod. */
  private boolean failPromised(String on, String uuids, Fault fault) {
    SimulatedNode node = world.node(on).orElseThrow();
    GpuModel promised =
        node.gpus.stream().filter(gpu -> gpu.uuid.equals(uuids)).findFirst().orElse(null);
    long nowMs = world.queue.nowMs();
    boolean anyNode = nowMs - fault.atMs() > ANY_NODE_AFTER_MS;
    if (promised == null
        || !promised.healthy()
        || (node.gpus.size() < 2 && !anyNode)
        || nowMs + fault.forMs() >= world.scenario.calmMs()) {
      return false;
    }
    world.history.add("FAULT", "%s has an error".formatted(promised.uuid));
    world.counts.count(fault.kind());
    promised.fail(node.plugin.clockMs());
    node.kubelet.watch.delay(GPU_KNOWN_MS);
    world.queue.after(Math.max(2 * GPU_KNOWN_MS, fault.forMs()), promised::recover);
    return true;
  }

  private void lose(SimulatedNode node, GpuModel gpu, long forMs) {
    world.counts.count(Branch.GPU_LOST);
    gpu.lose();
    world.queue.after(
        forMs,
        () -> {
          gpu.recover();
          List<GpuModel> others = node.gpus.stream().filter(each -> each != gpu).toList();
          if (!others.isEmpty()) {
            GpuModel other = others.get(random.nextInt(others.size()));
            world.counts.count(Branch.GPU_WITH_ANOTHER_INDEX);
            int index = other.index;
            other.index = gpu.index;
            gpu.index = index;
          }
        });
  }

  private void cordon(SimulatedNode node, Set<String> uuids) {
    world.api.updateNode(node.name, (before, at) -> before.cordoned(at, new HashSet<>(uuids)));
  }

  private void killSoon(SimulatedProcess process, Fault fault) {
    if (!kill(process, fault) && inTime(fault)) {
      world.queue.after(KILL_RETRY_MS, () -> killSoon(process, fault));
    }
  }

  /** Returns whether it ran; it starts again later. */
  private boolean kill(SimulatedProcess process, Fault fault) {
    if (!process.running() || !inTime(fault)) {
      return false;
    }
    world.counts.count(fault.kind());
    if (fault.kind() == Fault.Kind.NODE_REMOVED) {
      world.nodes.get(fault.target() % world.nodes.size()).remove(fault.forMs());
      return true;
    }
    process.kill();
    world.queue.after(fault.forMs(), () -> restart(process));
    return true;
  }

  private static void restart(SimulatedProcess process) {
    if (!process.running() && !process.removed) {
      process.start();
    }
  }
}
