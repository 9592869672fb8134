package dev.tranche.e2e.bench.soak;

import dev.tranche.api.GpuPart;
import dev.tranche.extender.invariant.Finding;
import dev.tranche.extender.invariant.Invariant;
import dev.tranche.extender.invariant.Invariants;
import dev.tranche.extender.invariant.ObservedCluster;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The soak's pods at each revision, as the API server tells them in order. What must hold at every
 * revision is checked at each.
 */
final class PodWatch implements AutoCloseable {
  private static final long RETRY_MS = 500;

  /** A pod may have been bound while the news of its GPU was on its way. */
  private static final long NEWS_NANOS = Duration.ofSeconds(5).toNanos();

  private final KubernetesClient client;
  private final Violations violations;
  private final Map<String, Pod> byUid = new LinkedHashMap<>();
  private @Nullable Watch watch;
  private final Map<String, Long> unhealthySinceNanos = new HashMap<>();

  /** The kubelet gives another GPU to a pod whose GPU has failed since its Binding. */
  private final Set<String> failedGpus = new HashSet<>();

  private boolean closed;
  private long revisions;

  PodWatch(KubernetesClient client, Violations violations) {
    this.client = client;
    this.violations = violations;
    open();
  }

  /** Returns the pods of now. */
  synchronized List<Pod> pods() {
    return List.copyOf(byUid.values());
  }

  /** Tells that a GPU is about to fail. */
  synchronized void fails(String uuid) {
    failedGpus.add(uuid);
  }

  /** Tells that the cluster knows from now on that a GPU is unhealthy. */
  synchronized void unhealthy(String uuid) {
    unhealthySinceNanos.put(uuid, System.nanoTime());
  }

  synchronized void healthy(String uuid) {
    unhealthySinceNanos.remove(uuid);
  }

  synchronized long revisions() {
    return revisions;
  }

  /** Lists anew: a watch may be silent for ever after its API server was killed. */
  void reopen() {
    @Nullable Watch before;
    synchronized (this) {
      before = watch;
    }
    if (before != null) {
      before.close();
    }
    open();
  }

  /** Lists, then watches from there, for as long as it takes until the API server answers. */
  private void open() {
    while (true) {
      synchronized (this) {
        if (closed) {
          return;
        }
        try {
          var pods = client.pods().inAnyNamespace().withLabel(SoakPod.LABEL);
          var list = pods.list();
          byUid.clear();
          list.getItems().forEach(pod -> byUid.put(pod.getMetadata().getUid(), pod));
          check();
          watch =
              client
                  .pods()
                  .inAnyNamespace()
                  .withLabel(SoakPod.LABEL)
                  .withResourceVersion(list.getMetadata().getResourceVersion())
                  .watch(new Changes());
          return;
        } catch (RuntimeException notYet) {
          // The fault of this moment may be the API server's.
        }
      }
      SoakBench.sleep(RETRY_MS);
    }
  }

  private final class Changes implements Watcher<Pod> {
    @Override
    public void eventReceived(Action action, Pod pod) {
      synchronized (PodWatch.this) {
        switch (action) {
          case ADDED, MODIFIED -> put(pod);
          case DELETED -> byUid.remove(pod.getMetadata().getUid());
          default -> {
            return;
          }
        }
        check();
      }
    }

    @Override
    public void onClose(WatcherException gone) {
      Thread.startVirtualThread(PodWatch.this::open);
    }
  }

  private void put(Pod pod) {
    Pod before = byUid.put(pod.getMetadata().getUid(), pod);
    boolean isNew = before == null || before.getSpec().getNodeName() == null;
    if (!isNew) {
      return;
    }
    for (String uuid : SoakPod.promised(pod).keySet()) {
      Long since = unhealthySinceNanos.get(uuid);
      if (since != null && System.nanoTime() - since > NEWS_NANOS) {
        violations.add(
            new Finding(
                Invariant.NOTHING_ON_UNHEALTHY_GPU,
                pod.getMetadata().getUid(),
                "pod %s was bound to GPU %s".formatted(SoakPod.key(pod), uuid)));
      }
    }
  }

  private void check() {
    revisions++;
    var pods = byUid.values().stream().map(pod -> observed(pod, Map.of(), null)).toList();
    Invariants.safety(new ObservedCluster(pods, List.of())).forEach(violations::add);
    for (Pod pod : byUid.values()) {
      if (SoakPod.isShare(pod) && SoakPod.requests(pod).isEmpty()) {
        violations.add("unmutated_share", SoakPod.key(pod), "it was created without its GPU");
      }
    }
  }

  /**
   * @param allocated parts by GPU uuid, as the kubelet says
   * @param fitsOn a node that could take it now
   */
  synchronized ObservedCluster.Pod observed(
      Pod pod, Map<String, GpuPart> allocated, @Nullable String fitsOn) {
    return new ObservedCluster.Pod(
        pod.getMetadata().getUid(),
        SoakPod.key(pod),
        pod.getSpec().getNodeName(),
        SoakPod.ended(pod),
        SoakPod.promised(pod),
        allocated,
        !Collections.disjoint(failedGpus, SoakPod.promised(pod).keySet()),
        false,
        fitsOn);
  }

  @Override
  public synchronized void close() {
    closed = true;
    Objects.requireNonNull(watch).close();
  }
}
