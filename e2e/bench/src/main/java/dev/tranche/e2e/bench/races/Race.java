package dev.tranche.e2e.bench.races;

import dev.tranche.api.Names;
import dev.tranche.e2e.bench.races.RacingPods.WatchedPod;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.function.Predicate;

/**
 * Creates pods at once that request more than the cluster has, and deletes them while others are
 * admitted. They are deleted gracefully or by force, before or after they run, some with a
 * successor of the same name.
 */
final class Race {
  /** When a pod is deleted. */
  private enum Fate {
    RUNS,
    DELETED_WHEN_BOUND,
    DELETED_BLINDLY
  }

  private static final List<String> FRACTIONS =
      List.of("0.1", "0.1", "0.2", "0.3", "0.3", "0.5", "0.6", "1");
  private static final int POLL_MS = 5;
  private static final int BOUND_WITHIN_MS = 60_000;
  private static final int RUNNING_WITHIN_MS = 60_000;

  private final KubernetesClient client;
  private final String namespace;
  private final RacingPods pods;
  private final Map<String, String> wrongGpu = new ConcurrentHashMap<>();
  private final Queue<String> errors = new ConcurrentLinkedQueue<>();

  Race(KubernetesClient client, String namespace, RacingPods pods) {
    this.client = client;
    this.namespace = namespace;
    this.pods = pods;
  }

  /** Returns the pods whose container saw other GPUs than the pod's annotation names, by uid. */
  Map<String, String> wrongGpu() {
    return Map.copyOf(wrongGpu);
  }

  /** Requests of the race's own that failed. */
  List<String> errors() {
    return List.copyOf(errors);
  }

  /** Runs {@code count} pods and their successors, and returns when all have met their fate. */
  void run(String prefix, int count) {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < count; i++) {
        String name = prefix + i;
        threads.execute(() -> safely(name));
      }
    }
  }

  private void safely(String name) {
    try {
      var random = new Random();
      boolean again = random.nextInt(4) == 0;
      pod(name, random, again);
      if (again) {
        pod(name, random, false);
      }
    } catch (RuntimeException | InterruptedException e) {
      errors.add(name + ": " + e);
    }
  }

  /**
   * @param byForce whether it must be deleted by force, so that a successor of its name can follow
   *     at once
   */
  private void pod(String name, Random random, boolean byForce) throws InterruptedException {
    Fate fate = fate(random.nextInt(10));
    String uid = create(name, FRACTIONS.get(random.nextInt(FRACTIONS.size())));
    try {
      meet(fate, uid, random);
    } finally {
      delete(uid, byForce || random.nextBoolean());
    }
  }

  private void meet(Fate fate, String uid, Random random) throws InterruptedException {
    switch (fate) {
      case RUNS -> {
        await(uid, WatchedPod::bound, BOUND_WITHIN_MS);
        if (await(uid, watched -> watched.ran() || watched.refused(), RUNNING_WITHIN_MS)) {
          compareGpus(uid);
        }
        Thread.sleep(random.nextInt(1_500));
      }
      case DELETED_WHEN_BOUND -> {
        await(uid, WatchedPod::bound, BOUND_WITHIN_MS);
        Thread.sleep(random.nextInt(40));
      }
      case DELETED_BLINDLY -> Thread.sleep(random.nextInt(1_000));
    }
  }

  private static Fate fate(int tenth) {
    return tenth < 5 ? Fate.RUNS : tenth < 8 ? Fate.DELETED_WHEN_BOUND : Fate.DELETED_BLINDLY;
  }

  private String create(String name, String fraction) {
    Pod pod =
        PodSpecs.fraction(name, fraction)
            .editSpec()
            .withTerminationGracePeriodSeconds(1L)
            .editFirstContainer()
            .withCommand("sh", "-c", "echo \"gpus=$NVIDIA_VISIBLE_DEVICES\"; exec sleep 86400")
            .endContainer()
            .endSpec()
            .build();
    long nanos = System.nanoTime();
    Pod created = client.pods().inNamespace(namespace).resource(pod).create();
    pods.created(created, nanos);
    return created.getMetadata().getUid();
  }

  private boolean await(String uid, Predicate<WatchedPod> holds, int limitMs)
      throws InterruptedException {
    long deadline = System.nanoTime() + limitMs * 1_000_000L;
    while (System.nanoTime() < deadline) {
      if (pods.get(uid).filter(holds).isPresent()) {
        return true;
      }
      Thread.sleep(POLL_MS);
    }
    return false;
  }

  private void compareGpus(String uid) {
    WatchedPod watched = pods.get(uid).orElseThrow();
    if (!watched.ran()) {
      return;
    }
    String log = client.pods().inNamespace(namespace).withName(watched.name()).getLog();
    Set<String> assigned =
        gpus(watched.last().getMetadata().getAnnotations().getOrDefault(Names.GPU, ""));
    log.lines()
        .filter(line -> line.startsWith("gpus="))
        .map(line -> gpus(line.substring("gpus=".length())))
        .filter(sees -> !sees.equals(assigned))
        .forEach(sees -> wrongGpu.put(uid, "assigned " + assigned + ", sees " + sees));
  }

  private static Set<String> gpus(String list) {
    return new HashSet<>(Arrays.asList(list.split(",")));
  }

  private void delete(String uid, boolean byForce) {
    WatchedPod watched = pods.get(uid).orElseThrow();
    var pod = client.pods().inNamespace(namespace).withName(watched.name());
    if (byForce) {
      pod.withGracePeriod(0).delete();
    } else {
      pod.delete();
    }
  }
}
