package dev.tranche.e2e.bench.attack;

import dev.tranche.api.Names;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Pods of people who do nothing wrong, created all the time: dry runs of plain pods and of pods
 * with a share, and one pod after the other that is placed and deleted.
 */
final class HonestPods implements AutoCloseable {
  private static final Duration BETWEEN = Duration.ofMillis(200);
  private static final int PLACED_WITHIN_S = 30;

  private final KubernetesClient client;
  private final String namespace;
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicInteger names = new AtomicInteger();
  private volatile boolean ended;

  final Tally plain = new Tally();
  final Tally share = new Tally();
  final Tally placed = new Tally();

  /** How many were tried, and what became of them. */
  static final class Tally {
    private final List<Double> okMs = new ArrayList<>();
    private int wrong;
    private int refused;
    private long wrongSinceNanos;
    private long longestWrongNanos;
    private String reason = "";

    /** Ends a stretch of failures. */
    synchronized void ok(long startNanos) {
      long now = System.nanoTime();
      okMs.add((now - startNanos) / 1e6);
      endStretch(now);
      wrongSinceNanos = 0;
    }

    /** It was let through without what it needs: unguarded, or without a GPU. */
    synchronized void wrong(long startNanos) {
      wrong++;
      fail(startNanos);
    }

    synchronized void refused(long startNanos, String why) {
      refused++;
      reason = why;
      fail(startNanos);
    }

    private void fail(long startNanos) {
      wrongSinceNanos = wrongSinceNanos == 0 ? startNanos : wrongSinceNanos;
      endStretch(System.nanoTime());
    }

    private void endStretch(long now) {
      if (wrongSinceNanos != 0) {
        longestWrongNanos = Math.max(longestWrongNanos, now - wrongSinceNanos);
      }
    }

    synchronized int tried() {
      return okMs.size() + wrong + refused;
    }

    synchronized int wrong() {
      return wrong;
    }

    synchronized int refused() {
      return refused;
    }

    synchronized double longestWrongS() {
      return longestWrongNanos / 1e9;
    }

    synchronized double p99Ms() {
      double[] sorted = okMs.stream().mapToDouble(d -> d).sorted().toArray();
      return sorted.length == 0 ? Double.NaN : sorted[(int) (0.99 * (sorted.length - 1))];
    }

    /** Why the last one was refused. */
    synchronized String reason() {
      return reason;
    }
  }

  private HonestPods(KubernetesClient client, String namespace) {
    this.client = client;
    this.namespace = namespace;
  }

  static HonestPods start(KubernetesClient client, String namespace) {
    var pods = new HonestPods(client, namespace);
    pods.loop(pods::createPlain);
    pods.loop(pods::createShare);
    pods.loop(pods::place);
    return pods;
  }

  private void loop(Runnable step) {
    threads.add(
        Thread.startVirtualThread(
            () -> {
              while (!ended) {
                step.run();
                sleep(BETWEEN);
              }
            }));
  }

  private void createPlain() {
    create(
        plain,
        PodSpecs.pod("plain" + names.incrementAndGet()).build(),
        container ->
            container.getEnv().stream()
                .anyMatch(
                    env ->
                        env.getName().equals("NVIDIA_VISIBLE_DEVICES")
                            && "void".equals(env.getValue())));
  }

  private void createShare() {
    create(
        share,
        PodSpecs.fraction("share" + names.incrementAndGet(), "0.1").build(),
        HonestPods::hasGpu);
  }

  private static boolean hasGpu(Container container) {
    return container.getResources() != null
        && container.getResources().getLimits() != null
        && container.getResources().getLimits().containsKey(Names.RESOURCE);
  }

  private void create(Tally tally, Pod pod, java.util.function.Predicate<Container> right) {
    long start = System.nanoTime();
    try {
      var created = client.pods().inNamespace(namespace).resource(pod).dryRun(true).create();
      if (right.test(created.getSpec().getContainers().getFirst())) {
        tally.ok(start);
      } else {
        tally.wrong(start);
      }
    } catch (KubernetesClientException refused) {
      tally.refused(start, String.valueOf(refused.getMessage()));
    }
  }

  private void place() {
    long start = System.nanoTime();
    var pod = PodSpecs.fraction("placed" + names.incrementAndGet(), "0.1").build();
    var created = client.pods().inNamespace(namespace).resource(pod);
    try {
      created.create();
      created.waitUntilCondition(
          p -> p != null && p.getSpec().getNodeName() != null, PLACED_WITHIN_S, TimeUnit.SECONDS);
      placed.ok(start);
    } catch (KubernetesClientException refused) {
      placed.refused(start, String.valueOf(refused.getMessage()));
    }
    try {
      created.withGracePeriod(0).delete();
    } catch (KubernetesClientException gone) {
      // The namespace goes at the end.
    }
  }

  private static void sleep(Duration time) {
    try {
      Thread.sleep(time);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() throws InterruptedException {
    ended = true;
    for (Thread thread : threads) {
      thread.join(Duration.ofSeconds(PLACED_WITHIN_S + 10));
    }
  }
}
