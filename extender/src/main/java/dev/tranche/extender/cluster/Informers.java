package dev.tranche.extender.cluster;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.preempt.Budget;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.verb.Core;
import dev.tranche.extender.verb.Loop;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.Informable;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Watches pods, nodes and disruption budgets, and tells the core. */
public final class Informers implements AutoCloseable {
  private static final long PAGE = 500;
  private static final int LISTS = 2;
  private static final Logger log = LoggerFactory.getLogger(Informers.class);

  private final KubernetesClient client;
  private final List<String> resources;
  private final Core core;
  private final Loop loop;
  private final NodeLabels labels;
  private final StartupTaints taints;
  private final Unshared unshared;
  private final Set<String> listed = ConcurrentHashMap.newKeySet();
  private @Nullable SharedIndexInformer<Pod> pods;
  private @Nullable SharedIndexInformer<Node> nodes;
  private @Nullable SharedIndexInformer<PodDisruptionBudget> budgets;

  public Informers(
      KubernetesClient client,
      List<String> resources,
      Core core,
      Loop loop,
      NodeLabels labels,
      StartupTaints taints,
      Unshared unshared) {
    this.client = client;
    this.resources = List.copyOf(resources);
    this.core = core;
    this.loop = loop;
    this.labels = labels;
    this.taints = taints;
    this.unshared = unshared;
  }

  /** Returns at once; the core is told when both have shown everything. */
  public void start() {
    var podStore = new SlimStore<Pod>(this::counts, Pod::new);
    pods =
        informer(
            client.pods().inAnyNamespace(),
            podStore,
            handler(this::podSeen, this::podGone, () -> listed("pods")));
    var nodeStore = new SlimStore<Node>(node -> true, Node::new);
    nodes =
        informer(
            client.nodes(),
            nodeStore,
            handler(this::nodeSeen, this::nodeGone, () -> listed("nodes")));
    startBudgets();
    pods.start().whenComplete((started, failed) -> unread("pods", failed));
    nodes.start().whenComplete((started, failed) -> unread("nodes", failed));
  }

  /** What preemption needs; nothing else waits for it. */
  private void startBudgets() {
    var store = new SlimStore<PodDisruptionBudget>(budget -> true, PodDisruptionBudget::new);
    budgets =
        informer(
            client.policy().v1().podDisruptionBudget().inAnyNamespace(),
            store,
            handler(
                budget -> {
                  Budget read = BudgetReader.read(budget);
                  loop.run(() -> core.budgetSeen(read));
                },
                budget -> {
                  String key = key(budget);
                  loop.run(() -> core.budgetGone(key));
                },
                () -> loop.run(core::budgetsRead)));
    budgets.start().whenComplete((started, failed) -> unread("pod disruption budgets", failed));
  }

  private static <T extends HasMetadata> SharedIndexInformer<T> informer(
      Informable<T> what, SlimStore<T> store, ResourceEventHandler<T> handler) {
    return what.withLimit(PAGE)
        .runnableInformer(0)
        .itemStore(store)
        .addEventHandler(handler)
        // Whatever fails is tried again, with the client's back-off, for as long as we run.
        .exceptionHandler((started, failure) -> again(failure));
  }

  private static boolean again(Throwable failure) {
    log.warn("reading the cluster failed and is tried again: {}", failure.toString());
    return true;
  }

  private static void unread(String what, @Nullable Throwable failed) {
    if (failed != null) {
      log.error("{} cannot be watched; the extender stays unready", what, failed);
    }
  }

  /** Told behind the objects of the list, on the same way to the loop. */
  private void listed(String what) {
    if (listed.add(what)) {
      loop.run(() -> core.read(what));
      if (listed.size() == LISTS) {
        loop.run(core::synced);
      }
    }
  }

  /** Others' pods take CPU and memory, which only packing asks about. */
  private boolean counts(Pod pod) {
    return core.packs() || PodReader.read(pod, resources).isPresent() || unshared.lacks(pod);
  }

  private void podSeen(Pod pod) {
    unshared.seen(pod);
    if (counts(pod)) {
      String phase = pod.getStatus() == null ? null : pod.getStatus().getPhase();
      boolean ended = "Succeeded".equals(phase) || "Failed".equals(phase);
      String uid = pod.getMetadata().getUid();
      HostRequest request = PodReader.host(pod);
      core.packing.requested(uid, request);
      core.packing.hosts.pod(uid, pod.getSpec().getNodeName(), ended, request);
    }
    PodReader.read(pod, resources)
        .ifPresent(facts -> loop.run(() -> core.told(new Event.PodSeen(facts))));
  }

  private void podGone(Pod pod) {
    String uid = pod.getMetadata().getUid();
    String key = key(pod);
    unshared.gone(uid);
    core.packing.hosts.podGone(uid);
    loop.run(() -> core.told(new Event.PodGone(uid, key)));
  }

  private static String key(HasMetadata item) {
    return item.getMetadata().getNamespace() + "/" + item.getMetadata().getName();
  }

  private void nodeSeen(Node node) {
    var facts = NodeReader.read(node, resources);
    if (node.getStatus() != null) {
      var allocatable = PodReader.texts(node.getStatus().getAllocatable());
      core.packing.hosts.node(facts.name(), HostRequest.of(allocatable));
    }
    var labelled = NodeLabels.reading(labels, node);
    var tainted = StartupTaints.reading(taints, node);
    loop.run(
        () -> {
          core.told(new Event.NodeSeen(facts));
          labelled.run();
          tainted.run();
        });
  }

  private void nodeGone(Node node) {
    String name = node.getMetadata().getName();
    core.packing.hosts.nodeGone(name);
    loop.run(
        () -> {
          core.told(new Event.NodeGone(name));
          labels.gone(name);
          taints.gone(name);
        });
  }

  private <T extends HasMetadata> ResourceEventHandler<T> handler(
      Consumer<T> seen, Consumer<T> gone, Runnable listed) {
    return new ResourceEventHandler<>() {
      @Override
      public void onAdd(T item) {
        seen.accept(item);
      }

      @Override
      public void onUpdate(T before, T now) {
        // After a lost watch, a name that was deleted and given again looks like an update.
        if (!Objects.equals(before.getMetadata().getUid(), now.getMetadata().getUid())) {
          gone.accept(before);
        }
        seen.accept(now);
      }

      @Override
      public void onList(String resourceVersion, boolean remaining) {
        listed.run();
      }

      @Override
      public void onDelete(T item, boolean unknownFinalState) {
        gone.accept(item);
      }
    };
  }

  @Override
  public void close() {
    if (pods != null) {
      pods.stop();
    }
    if (nodes != null) {
      nodes.stop();
    }
    if (budgets != null) {
      budgets.stop();
    }
  }
}
