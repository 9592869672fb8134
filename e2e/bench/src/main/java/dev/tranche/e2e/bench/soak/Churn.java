package dev.tranche.e2e.bench.soak;

import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/**
 * Keeps more pods around than the GPUs can take: each lives for some seconds, then it is deleted
 * and another one is created.
 */
final class Churn implements AutoCloseable {
  private static final int PODS = 26;
  private static final int STEP_MS = 250;
  private static final int LIFE_MIN_MS = 4_000;
  private static final int LIFE_MAX_MS = 40_000;

  private final KubernetesClient client;
  private final String namespace;
  private final PodWatch watch;

  /** Only for what pods request, so that the pod of a name is the same in each run of a seed. */
  private final Random kinds;

  private final Random lives;
  private final Map<String, Long> endByUidMs = new HashMap<>();
  private final Set<String> created = new HashSet<>();
  private final Thread thread;
  private volatile boolean paused;
  private volatile boolean closed;
  private int names;

  Churn(Tranche tranche, String namespace, PodWatch watch, Random random) {
    client = tranche.client();
    this.namespace = namespace;
    this.watch = watch;
    kinds = new Random(random.nextLong());
    lives = new Random(random.nextLong());
    thread = Thread.startVirtualThread(this::run);
  }

  void pause(boolean pause) {
    paused = pause;
  }

  /** Creates pods of the usual kinds in another namespace, and returns how many the API took. */
  synchronized int burst(String other, int count) {
    int taken = 0;
    for (int i = 0; i < count; i++) {
      taken += create(other) ? 1 : 0;
    }
    return taken;
  }

  synchronized int created() {
    return created.size();
  }

  private void run() {
    while (!closed) {
      if (!paused) {
        step();
      }
      SoakBench.sleep(STEP_MS);
    }
  }

  private synchronized void step() {
    long nowMs = Duration.ofNanos(System.nanoTime()).toMillis();
    int here = 0;
    for (Pod pod : watch.pods()) {
      String uid = pod.getMetadata().getUid();
      int lifeMs = LIFE_MIN_MS + lives.nextInt(LIFE_MAX_MS - LIFE_MIN_MS);
      if (nowMs > endByUidMs.computeIfAbsent(uid, unknown -> nowMs + lifeMs)) {
        delete(pod);
      }
      here++;
    }
    if (here < PODS) {
      create(namespace);
    }
  }

  private boolean create(String in) {
    Pod pod = SoakPod.random("p" + names++, kinds);
    try {
      Pod made = client.pods().inNamespace(in).resource(pod).create();
      created.add(made.getMetadata().getUid());
      return true;
    } catch (KubernetesClientException refused) {
      return false;
    }
  }

  private void delete(Pod pod) {
    try {
      client.resource(pod).delete();
    } catch (KubernetesClientException later) {
      // The next step tries it again.
    }
  }

  /** Deletes all pods, and creates no more. */
  @Override
  public void close() throws InterruptedException {
    closed = true;
    thread.join();
    watch.pods().forEach(this::delete);
  }
}
