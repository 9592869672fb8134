package dev.tranche.e2e.bench.races;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** What a watch has shown of each pod that was created here, by uid, since names are used again. */
final class RacingPods implements Watcher<Pod> {
  /**
   * A pod of the race. Times are of the monotonic clock, in nanoseconds, or 0 if not reached yet.
   *
   * @param last the pod as the watch showed it last
   */
  record WatchedPod(Pod last, long createdNanos, long runningNanos, boolean gone) {
    String name() {
      return last.getMetadata().getName();
    }

    String uid() {
      return last.getMetadata().getUid();
    }

    boolean bound() {
      return last.getSpec().getNodeName() != null;
    }

    boolean ran() {
      return runningNanos != 0;
    }

    /**
     * Returns whether the kubelet refused the pod, with a reason. A pod that is deleted before it
     * runs fails without one.
     */
    boolean refused() {
      var status = last.getStatus();
      return bound() && !ran() && "Failed".equals(status.getPhase()) && status.getReason() != null;
    }
  }

  private final Map<String, WatchedPod> byUid = new ConcurrentHashMap<>();

  /** Follows a namespace until the client is closed. */
  static RacingPods watch(KubernetesClient client, String namespace) {
    var pods = new RacingPods();
    client.pods().inNamespace(namespace).watch(pods);
    return pods;
  }

  void created(Pod pod, long nanos) {
    byUid.merge(
        pod.getMetadata().getUid(),
        new WatchedPod(pod, nanos, 0, false),
        (watched, first) ->
            new WatchedPod(watched.last(), nanos, watched.runningNanos(), watched.gone()));
  }

  @Override
  public void eventReceived(Action action, Pod pod) {
    if (action == Action.BOOKMARK || action == Action.ERROR) {
      return;
    }
    long nanos = System.nanoTime();
    boolean runs = "Running".equals(pod.getStatus().getPhase());
    byUid.compute(
        pod.getMetadata().getUid(),
        (uid, watched) ->
            new WatchedPod(
                pod,
                watched == null ? nanos : watched.createdNanos(),
                watched != null && watched.ran() ? watched.runningNanos() : runs ? nanos : 0,
                action == Action.DELETED));
  }

  @Override
  public void onClose(WatcherException cause) {
    throw new IllegalStateException("the watch of the racing pods ended", cause);
  }

  Optional<WatchedPod> get(String uid) {
    return Optional.ofNullable(byUid.get(uid));
  }

  List<WatchedPod> all() {
    return List.copyOf(byUid.values());
  }
}
