package dev.tranche.e2e.bench.attack;

import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Attacks a cluster with the chart's own values, one way after the other, and prints how Tranche
 * and honest pods fared.
 */
public final class AttackBench {
  private static final String NODE = "one";
  private static final String HONEST = "honest";
  private static final String HOSTILE = "hostile";
  private static final Duration AFTERWARDS = Duration.ofSeconds(10);
  private static final int BACK_WITHIN_S = 240;

  private AttackBench() {}

  /**
   * @param names which attacks; none: all
   * @param minimalPods how many pods the attacker lets wait at most
   */
  public static void run(Artifacts artifacts, List<String> names, int minimalPods)
      throws Exception {
    List<Attack> attacks = Attack.of(names);
    Path folder = artifacts.root().resolve("target/attacks");
    var plan =
        new Tranche.Plan(
            "attacks",
            folder,
            Map.of(NODE, Collections.nCopies(8, Model.H100)),
            gpus -> {},
            Map.of(),
            false,
            System.err::println);
    try (Tranche tranche = Tranche.start(artifacts, plan)) {
      create(tranche, HONEST);
      for (Attack attack : attacks) {
        String result = attack(tranche, attack, minimalPods);
        System.out.println(result);
        Files.writeString(
            folder.resolve("results.txt"),
            result + "\n",
            StandardOpenOption.CREATE,
            StandardOpenOption.APPEND);
      }
    }
  }

  private static String attack(Tranche tranche, Attack attack, int minimalPods) throws Exception {
    var parts = new Parts(tranche);
    Await.until("all parts to be ready", BACK_WITHIN_S, parts::allReady);
    create(tranche, HOSTILE);
    Map<String, Integer> before = parts.restarts();
    var field = new Field(tranche, parts, NODE, HOSTILE, minimalPods);
    long start = System.nanoTime();
    String seen;
    long attackedNanos;
    Map<String, Long> memory;
    Map<String, Double> heap;
    var honest = HonestPods.start(tranche.client(), HONEST);
    var peak = new Peak(parts);
    try (honest;
        peak) {
      seen = attack.action().run(field, attack.seconds());
      long leftNanos = Duration.ofSeconds(attack.seconds()).toNanos() - (System.nanoTime() - start);
      Thread.sleep(Duration.ofNanos(Math.max(0, leftNanos)).plus(AFTERWARDS));
      attackedNanos = System.nanoTime() - start;
    }
    memory = parts.memoryMib();
    heap = parts.heapMib();
    var ended = parts.endedSince(before);
    long endNanos = System.nanoTime();
    String lag = String.valueOf(parts.metric("extender", "tranche_extender_loop_lag_seconds"));
    tranche.client().namespaces().withName(HOSTILE).delete();
    String back;
    try {
      Await.until("all parts to be ready", BACK_WITHIN_S, parts::allReady);
      back = "%.0f s later".formatted((System.nanoTime() - endNanos) / 1e9);
    } catch (AssertionError never) {
      back = "not within %d s".formatted(BACK_WITHIN_S);
    }
    Await.until(
        "the attacker's namespace to be gone",
        600,
        () -> tranche.client().namespaces().withName(HOSTILE).get() == null);
    return String.format(
        Locale.ROOT,
        """
        %s (%.0f s): %s
          processes ended: %s; all ready %s
          plain pods: %s
          shares: %s
          placed: %s
          memory now MiB %s, at most %s; heap now MiB %s, at most %s; loop lag %s s""",
        attack.name(),
        attackedNanos / 1e9,
        seen,
        ended.isEmpty() ? "none" : String.join("; ", ended),
        back,
        shown(honest.plain),
        shown(honest.share),
        shown(honest.placed),
        memory,
        peak.memory(),
        rounded(heap),
        rounded(peak.heap()),
        lag);
  }

  private static Map<String, Long> rounded(Map<String, Double> heap) {
    var rounded = new LinkedHashMap<String, Long>();
    heap.forEach((part, mib) -> rounded.put(part, Math.round(mib)));
    return rounded;
  }

  private static String shown(HonestPods.Tally tally) {
    return String.format(
        Locale.ROOT,
        "%d tried, %d unguarded or without GPU, %d refused, longest without %.1f s, p99 %.0f ms %s",
        tally.tried(),
        tally.wrong(),
        tally.refused(),
        tally.longestWrongS(),
        tally.p99Ms(),
        tally.reason().lines().findFirst().orElse(""));
  }

  private static void create(Tranche tranche, String namespace) {
    var client = tranche.client();
    client
        .resource(
            new NamespaceBuilder().withNewMetadata().withName(namespace).endMetadata().build())
        .create();
    Await.until(
        "a default service account",
        60,
        () -> client.serviceAccounts().inNamespace(namespace).withName("default").get() != null);
  }
}
