package dev.tranche.simulate;

import io.fabric8.kubernetes.api.model.coordination.v1.LeaseSpec;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * The API server: pods, nodes and one Lease with their versions, and the log of all changes that
 * watches read.
 */
final class ApiModel extends SimulatedProcess {
  /** A change of one object. */
  record Change<T extends Stored>(T object, boolean removed) {}

  /** A kind of objects. */
  static final class Table<T extends Stored> {
    final Map<String, T> byUid = new LinkedHashMap<>();
    final List<Change<T>> log = new ArrayList<>();
    private final List<Runnable> watchers = new ArrayList<>();

    Collection<T> all() {
      return byUid.values();
    }

    Optional<T> get(String uid) {
      return Optional.ofNullable(byUid.get(uid));
    }

    Optional<T> named(String key) {
      return byUid.values().stream().filter(each -> each.key().equals(key)).findFirst();
    }

    void watch(Runnable changed) {
      watchers.add(changed);
    }

    private void put(T object) {
      byUid.put(object.uid(), object);
      changed(new Change<>(object, false));
    }

    private void remove(String uid) {
      T last = byUid.remove(uid);
      if (last != null) {
        changed(new Change<>(last, true));
      }
    }

    private void changed(Change<T> change) {
      log.add(change);
      watchers.forEach(Runnable::run);
    }
  }

  /** A Lease with its version. */
  record LeaseObject(LeaseSpec spec, long version) {}

  enum Bound {
    DONE,
    CONFLICT,
    GONE
  }

  final Table<PodObject> pods = new Table<>();
  final Table<NodeObject> nodes = new Table<>();
  private final History history;
  private long version;
  private @Nullable LeaseObject lease;

  ApiModel(EventQueue queue, SplittableRandom random, History history) {
    super("api", queue, random);
    this.history = history;
    start();
  }

  private void update(String uid, PodChange change) {
    pods.get(uid).ifPresent(pod -> pods.put(change.apply(pod, ++version)));
  }

  private interface PodChange {
    PodObject apply(PodObject before, long version);
  }

  void create(PodPlan plan) {
    pods.put(PodObject.created(plan, ++version, wallMs()));
    history.add(
        name,
        "pod %s (%s) is created: %d of %s, priority %d"
            .formatted(
                plan.name(),
                plan.uid(),
                plan.replicas(),
                plan.replicasPerGpu() == 0 ? "any" : plan.replicasPerGpu(),
                plan.priority()));
  }

  void createNode(String node, int allocatable) {
    nodes.put(new NodeObject(node, ++version, allocatable, 0, "", Set.of(), allocatable > 0));
  }

  void removeNode(String node) {
    nodes.remove(node);
  }

  /**
   * Posts a Binding with its annotations.
   *
   * @param gpu the value of {@code tranche.dev/gpu}
   * @param granted the value of {@code tranche.dev/granted-replicas}
   */
  Bound bind(String uid, String key, String node, String gpu, String granted) {
    PodObject pod = pods.get(uid).orElse(null);
    if (pod == null) {
      return pods.named(key).isPresent() ? Bound.CONFLICT : Bound.GONE;
    }
    if (pod.node() != null || pod.terminating()) {
      return Bound.CONFLICT;
    }
    pods.put(pod.bound(++version, node, gpu, granted));
    history.add(
        name, "pod %s (%s) is bound to %s, GPU %s %s".formatted(key, uid, node, gpu, granted));
    return Bound.DONE;
  }

  /** The scheduler reports that it could not place a pod; nothing is written if that is known. */
  void unscheduled(String uid, String why, @Nullable String nominated) {
    PodObject pod = pods.get(uid).orElse(null);
    if (pod == null || pod.node() != null) {
      return;
    }
    boolean sameNode = Objects.equals(pod.nominated(), nominated);
    if (sameNode && pod.condition().equals(why)) {
      return;
    }
    pods.put(pod.unscheduled(++version, why, nominated));
    if (!sameNode) {
      history.add(
          name,
          "pod %s is nominated: %s"
              .formatted(pod.key(), nominated == null ? "no node" : nominated));
    }
  }

  /** Deletes a pod, by its owner or for another pod. */
  void delete(String uid, boolean force) {
    PodObject pod = pods.get(uid).orElse(null);
    if (pod == null) {
      return;
    }
    if (force || pod.node() == null || pod.ended()) {
      history.add(name, "pod %s (%s) is gone".formatted(pod.key(), uid));
      pods.remove(uid);
    } else if (!pod.terminating()) {
      history.add(name, "pod %s (%s) is terminating".formatted(pod.key(), uid));
      long graceMs = Math.max(1_000, pod.plan().graceMs());
      update(uid, (before, at) -> before.terminating(at, wallMs() + graceMs));
    }
  }

  /** The kubelet reports a pod's phase. */
  void phase(String uid, PodObject.Phase phase, String why) {
    PodObject pod = pods.get(uid).orElse(null);
    if (pod != null && pod.phase() != phase && !pod.ended()) {
      history.add(name, "pod %s (%s) is %s%s".formatted(pod.key(), uid, phase, why));
      update(uid, (before, at) -> before.in(at, phase, wallMs()));
    }
  }

  /** The kubelet has ended a deleted pod. */
  void finish(String uid) {
    pods.get(uid)
        .ifPresent(
            pod -> {
              history.add(name, "pod %s (%s) is gone".formatted(pod.key(), uid));
              pods.remove(uid);
            });
  }

  void updateNode(String node, NodeChange change) {
    nodes.get(node).ifPresent(now -> nodes.put(change.apply(now, ++version)));
  }

  /** A write to a node. */
  interface NodeChange {
    NodeObject apply(NodeObject before, long version);
  }

  @Nullable LeaseObject lease() {
    return lease;
  }

  /** Writes the Lease over the version that was read, and returns whether it still had that. */
  boolean writeLease(LeaseSpec spec, long readVersion) {
    long has = lease == null ? 0 : lease.version();
    if (has != readVersion) {
      return false;
    }
    lease = new LeaseObject(spec, ++version);
    return true;
  }
}
