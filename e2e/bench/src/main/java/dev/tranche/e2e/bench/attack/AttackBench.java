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
  private static final int BACK_WITHIN_S = 90;
  private static final int GONE_WITHIN_S = 900;

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
        System.out.println(recover(tranche));
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
    var honest = HonestPods.start(tranche.client(), HONEST);
    var peak = new Peak(parts);
    try (honest;
        peak) {
      seen = attack.action().run(field, attack.seconds());
      long leftNanos = Duration.ofSeconds(attack.seconds()).toNanos() - (System.nanoTime() - start);
      Thread.sleep(Duration.ofNanos(Math.max(0, leftNanos)).plus(AFTERWARDS));
    }
    var ended = parts.endedSince(before);
    return String.format(
        Locale.ROOT,
        """
        %s (%.0f s): %s
          processes ended: %s; now %s
          plain pods: %s
          shares: %s
          placed: %s
          memory now MiB %s, at most %s; heap now MiB %s, at most %s; loop lag %s s""",
        attack.name(),
        (System.nanoTime() - start) / 1e9,
        seen,
        ended.isEmpty() ? "none" : String.join("; ", ended),
        parts.allReady() ? "all are ready" : "not all are ready",
        shown(honest.plain),
        shown(honest.share),
        shown(honest.placed),
        parts.memoryMib(),
        peak.memory(),
        rounded(parts.heapMib()),
        rounded(peak.heap()),
        parts.metric("extender", "tranche_extender_loop_lag_seconds"));
  }

  /** Removes what the attacker has left, and returns when all is as before. */
  private static String recover(Tranche tranche) {
    var parts = new Parts(tranche);
    long start = System.nanoTime();
    tranche.client().namespaces().withName(HOSTILE).delete();
    Await.until(
        "the attacker's namespace to be gone",
        GONE_WITHIN_S,
        () -> tranche.client().namespaces().withName(HOSTILE).get() == null);
    long goneNanos = System.nanoTime() - start;
    try {
      Await.until("all parts to be ready", BACK_WITHIN_S, parts::allReady);
    } catch (AssertionError never) {
      // A new pod does not wait as long as one whose container has ended often.
      parts.deleteUnready();
      Await.until("all parts to be ready again", 2 * BACK_WITHIN_S, parts::allReady);
    }
    return String.format(
        Locale.ROOT,
        "  the attacker's objects gone after %.0f s, all parts ready after %.0f s",
        goneNanos / 1e9,
        (System.nanoTime() - start) / 1e9);
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
