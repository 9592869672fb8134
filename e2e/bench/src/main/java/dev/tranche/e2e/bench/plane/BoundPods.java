package dev.tranche.e2e.bench.plane;

import dev.tranche.e2e.install.Await;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Sees pods being bound, and when. */
public final class BoundPods implements AutoCloseable {
  private record Bound(String uid, String node, long atNanos) {}

  private final Map<String, Bound> bound = new ConcurrentHashMap<>();
  private final Watch watch;

  public BoundPods(KubernetesClient client, String label) {
    this(client, label, pod -> {});
  }

  /**
   * @param onBound is called with each pod once, when it is bound
   */
  public BoundPods(KubernetesClient client, String label, Consumer<Pod> onBound) {
    watch =
        client
            .pods()
            .inNamespace(ClusterObjects.NAMESPACE)
            .withLabel(label)
            .watch(
                new Watcher<Pod>() {
                  @Override
                  public void eventReceived(Action action, Pod pod) {
                    String node = pod.getSpec().getNodeName();
                    if (action != Action.DELETED && node != null) {
                      String uid = pod.getMetadata().getUid();
                      if (bound.putIfAbsent(uid, new Bound(uid, node, System.nanoTime())) == null) {
                        onBound.accept(pod);
                      }
                    }
                  }

                  @Override
                  public void onClose(@Nullable WatcherException cause) {}
                });
  }

  /** Pods per second from the first that was bound to the last. */
  public double await(int count, Duration limit) {
    Await.until(
        count + " pods to be bound",
        (int) limit.toSeconds(),
        () -> bound.size() >= count,
        () -> "only " + bound.size() + " are");
    long first = bound.values().stream().mapToLong(Bound::atNanos).min().orElseThrow();
    long last = bound.values().stream().mapToLong(Bound::atNanos).max().orElseThrow();
    return (count - 1) / ((last - first) / 1e9);
  }

  /** Node by pod uid. */
  public Map<String, String> nodes() {
    var nodes = new ConcurrentHashMap<String, String>();
    bound.values().forEach(b -> nodes.put(b.uid(), b.node()));
    return nodes;
  }

  @Override
  public void close() {
    watch.close();
  }
}
