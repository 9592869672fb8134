package dev.tranche.extender.cluster;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.selection.NodeTraits;
import dev.tranche.extender.verb.Core;
import dev.tranche.extender.verb.Loop;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** Watches pods, nodes and disruption budgets, and tells the core. */
public final class Informers implements AutoCloseable {
  private final Core core;
  private final Loop loop;
  private final NodeLabels labels;
  private final StartupTaints taints;
  private final Unshared unshared;
  private final NodeTraits.Table traits;

  /** What has not been shown yet; on the loop. */
  private final Set<String> unlisted = new HashSet<>(Set.of("nodes", "pods"));

  private final List<Reflector<?>> reflectors;

  /** What preemption needs comes last: nothing else waits for it. */
  private final Reflector<?> budgets;

  public Informers(
      KubernetesClient client,
      List<String> resources,
      Core core,
      Loop loop,
      NodeLabels labels,
      StartupTaints taints,
      Unshared unshared,
      NodeTraits.Table traits) {
    this.core = core;
    this.loop = loop;
    this.labels = labels;
    this.taints = taints;
    this.unshared = unshared;
    this.traits = traits;
    this.reflectors =
        List.of(
            reflector(
                client,
                NodeReader.kind(resources),
                sink(this::nodeSeen, (uid, name) -> nodeGone(name), () -> listed("nodes"))),
            reflector(
                client,
                PodReader.kind(resources, core.packs()),
                sink(this::podSeen, this::podGone, () -> listed("pods"))));
    this.budgets =
        reflector(
            client,
            BudgetReader.kind(),
            sink(
                (BudgetShown shown) -> loop.run(() -> core.budgetSeen(shown.budget())),
                (uid, key) -> loop.run(() -> core.budgetGone(key)),
                () -> loop.run(core::budgetsRead)));
  }

  private <M extends HasMetadata, T extends Shown> Reflector<T> reflector(
      KubernetesClient client, Kind<M, T> kind, Reflector.Sink<T> sink) {
    return new Reflector<>(client, kind, sink, core.metrics, core::nowMs);
  }

  /** Returns at once; the core is told when pods and nodes have been shown once. */
  public void start() {
    reflectors.forEach(Reflector::start);
  }

  /** Told behind the objects of the list, on the same way to the loop. */
  private void listed(String what) {
    loop.run(
        () -> {
          if (unlisted.remove(what)) {
            core.read(what);
            if (unlisted.isEmpty()) {
              core.synced();
              budgets.start();
            }
          }
        });
  }

  /** Others' pods take CPU and memory, which only packing asks about. */
  private void podSeen(PodShown pod) {
    unshared.seen(pod);
    if (pod.matters()) {
      core.packing.requested(pod.uid(), pod.host());
      core.packing.hosts.pod(pod.uid(), pod.node(), pod.ended(), pod.host());
    }
    pod.facts().ifPresent(facts -> loop.run(() -> core.told(new Event.PodSeen(facts))));
  }

  private void podGone(String uid, String key) {
    unshared.gone(uid);
    core.packing.hosts.podGone(uid);
    loop.run(() -> core.told(new Event.PodGone(uid, key)));
  }

  private void nodeSeen(NodeShown node) {
    core.packing.hosts.node(node.key(), node.host());
    traits.seen(node.key(), node.traits());
    loop.run(
        () -> {
          core.told(new Event.NodeSeen(node.facts()));
          labels.seen(node.key(), node.resourceVersion(), node.labels(), node.written());
          taints.seen(node.key(), node.tainted());
        });
  }

  private void nodeGone(String name) {
    core.packing.hosts.nodeGone(name);
    traits.gone(name);
    loop.run(
        () -> {
          core.told(new Event.NodeGone(name));
          labels.gone(name);
          taints.gone(name);
        });
  }

  private static <T> Reflector.Sink<T> sink(
      Consumer<T> seen, BiConsumer<String, String> gone, Runnable listed) {
    return new Reflector.Sink<>() {
      @Override
      public void seen(T item) {
        seen.accept(item);
      }

      @Override
      public void gone(String uid, String key) {
        gone.accept(uid, key);
      }

      @Override
      public void listed() {
        listed.run();
      }
    };
  }

  @Override
  public void close() {
    reflectors.forEach(Reflector::close);
    budgets.close();
  }
}
