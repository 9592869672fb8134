package dev.tranche.e2e.bench.packing;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Sees what becomes of each pod: bound, or found unschedulable. */
final class PodOutcomes implements AutoCloseable {
  private static final long LIMIT_S = 120;

  private final String namespace;
  private final KubernetesClient client;
  private final Map<String, CompletableFuture<Boolean>> awaited = new ConcurrentHashMap<>();
  private final Watch watch;

  PodOutcomes(KubernetesClient client, String namespace) {
    this.client = client;
    this.namespace = namespace;
    this.watch =
        client
            .pods()
            .inNamespace(namespace)
            .watch(
                new Watcher<Pod>() {
                  @Override
                  public void eventReceived(Action action, Pod pod) {
                    if (action != Action.DELETED) {
                      judge(pod);
                    }
                  }

                  @Override
                  public void onClose(@Nullable WatcherException cause) {}
                });
  }

  private void judge(Pod pod) {
    CompletableFuture<Boolean> verdict = awaited.get(pod.getMetadata().getName());
    if (verdict == null) {
      return;
    }
    if (pod.getSpec().getNodeName() != null) {
      verdict.complete(true);
    } else if (pod.getStatus() != null && unschedulable(pod)) {
      verdict.complete(false);
    }
  }

  /**
   * Returns whether a pod was found unschedulable. An error of the scheduler or the extender does
   * not count, since it is retried.
   */
  private static boolean unschedulable(Pod pod) {
    return pod.getStatus().getConditions().stream()
        .anyMatch(c -> "PodScheduled".equals(c.getType()) && "Unschedulable".equals(c.getReason()));
  }

  /** Creates a pod, and returns whether it was bound. If it was not, it is deleted again. */
  boolean offer(String name, String json) {
    var verdict = new CompletableFuture<Boolean>();
    awaited.put(name, verdict);
    client.raw("/api/v1/namespaces/" + namespace + "/pods", "POST", json);
    try {
      boolean bound = verdict.get(LIMIT_S, TimeUnit.SECONDS);
      if (!bound) {
        client.pods().inNamespace(namespace).withName(name).withGracePeriod(0).delete();
      }
      return bound;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    } catch (ExecutionException | TimeoutException e) {
      throw new IllegalStateException(
          "pod %s was neither bound nor found unschedulable in %d s".formatted(name, LIMIT_S), e);
    } finally {
      awaited.remove(name);
    }
  }

  @Override
  public void close() {
    watch.close();
  }
}
