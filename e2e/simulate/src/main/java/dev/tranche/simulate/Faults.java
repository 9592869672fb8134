package dev.tranche.simulate;

import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;

/** Makes go wrong what a scenario says, and ends it in time. */
final class Faults {
  private static final int LATE_MS_MAX = 4_000;

  /** The plugin keeps retracted assignments for a minute, for a kubelet that lags. */
  private static final long KUBELET_LATE_MS_MAX = 40_000;

  private final World world;
  private final SplittableRandom random;

  Faults(World world) {
    this.world = world;
    this.random = world.randoms.of("faults");
  }

  void apply(Fault fault) {
    world.history.add("FAULT", fault.toString());
    ExtenderReplica extender = world.extenders.get(fault.target() % 2);
    SimulatedNode node = world.nodes.get(fault.target() % world.nodes.size());
    long forMs = fault.forMs();
    switch (fault.kind()) {
      case STALE_VIEW -> extender.delayWatches(forMs);
      case ALL_VIEWS_STALE -> {
        world.extenders.forEach(each -> each.delayWatches(forMs));
        world.nodes.stream()
            .filter(each -> random.nextInt(3) > 0)
            .forEach(each -> each.kubelet.delayWatch(Math.min(forMs, KUBELET_LATE_MS_MAX)));
      }
      case UNOBSERVED_STATE -> {
        extender.delayWatches(Math.min(forMs, 5_000));
        world.queue.after(Math.min(forMs, 5_000), () -> extender.breakWatches(true));
      }
      case WATCH_ENDS -> extender.breakWatches(random.nextBoolean());
      case CRASH_BEFORE_BINDING -> world.onNextAssignment(() -> crashLeader(forMs));
      case CRASH_AFTER_BINDING -> world.onNextBinding(() -> crashLeader(forMs));
      case EXTENDER_KILLED -> restart(extender, forMs);
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
      case SCHEDULER_KILLED -> restart(world.scheduler, forMs);
      case SCHEDULER_STALE -> {
        world.scheduler.delayWatches(forMs);
        world.queue.after(forMs, () -> world.scheduler.breakWatches(random.nextBoolean()));
      }
      default -> {
        if (!partition(fault, extender, node)) {
          applyToNode(fault, node);
        }
      }
    }
  }

  private boolean partition(Fault fault, ExtenderReplica extender, SimulatedNode node) {
    boolean ofNode =
        switch (fault.kind()) {
          case PARTITION_FROM_NODE, PARTITION_TO_NODE, PARTITION_OF_NODE -> true;
          default -> false;
        };
    String other = ofNode ? node.plugin.name : "api";
    boolean from =
        switch (fault.kind()) {
          case PARTITION_FROM_API, PARTITION_FROM_NODE, PARTITION_OF_API, PARTITION_OF_NODE -> true;
          default -> false;
        };
    boolean to =
        switch (fault.kind()) {
          case PARTITION_TO_API, PARTITION_TO_NODE, PARTITION_OF_API, PARTITION_OF_NODE -> true;
          default -> false;
        };
    if (from) {
      world.network.block(other, extender.name, fault.forMs());
    }
    if (to) {
      world.network.block(extender.name, other, fault.forMs());
    }
    return from || to;
  }

  private void applyToNode(Fault fault, SimulatedNode node) {
    long forMs = fault.forMs();
    GpuModel gpu = node.gpus.get(fault.target() % node.gpus.size());
    switch (fault.kind()) {
      case PLUGIN_KILLED -> restart(node.plugin, forMs);
      case PLUGIN_STATE_LOST -> {
        world.counts.count(Branch.PLUGIN_WITHOUT_STATE);
        restart(node.plugin, forMs);
        node.plugin.loseState();
      }
      case PLUGIN_FROZEN -> node.plugin.freeze(forMs);
      case KUBELET_KILLED -> restart(node.kubelet, forMs);
      case KUBELET_STALE -> {
        node.kubelet.delayWatch(forMs);
        world.queue.after(forMs, () -> node.kubelet.breakWatch(random.nextBoolean()));
      }
      case KUBELET_LIST_HANGS -> node.kubelet.hangList(forMs);
      case GPU_FAULTY -> {
        gpu.fail(node.plugin.clockMs());
        world.queue.after(forMs, gpu::recover);
      }
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
        node.kubelet.delayWatch(random.nextInt(LATE_MS_MAX));
        int before = node.plugin.replicas();
        node.plugin.configure(fault.value());
        world.queue.after(2 * forMs, () -> node.plugin.configure(before));
      }
      default -> throw new IllegalStateException("nobody applies " + fault);
    }
  }

  private void lose(SimulatedNode node, GpuModel gpu, long forMs) {
    world.counts.count(Branch.GPU_LOST);
    gpu.lose();
    world.queue.after(
        forMs,
        () -> {
          gpu.recover();
          GpuModel other = node.gpus.get(random.nextInt(node.gpus.size()));
          if (other != gpu) {
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

  private void crashLeader(long forMs) {
    ExtenderReplica leader = world.leader();
    if (leader != null) {
      restart(leader, forMs);
    }
  }

  private void restart(SimulatedProcess process, long afterMs) {
    if (process.running()) {
      process.kill();
      world.queue.after(afterMs, process::start);
    }
  }
}
