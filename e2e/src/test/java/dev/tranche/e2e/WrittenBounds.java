package dev.tranche.e2e;

import java.util.List;
import java.util.Map;

/** Figures of the table of bounds that the code has in another form than one constant. */
final class WrittenBounds {
  private static final String EXTENDER = "extender/";
  private static final String WEBHOOK = "webhook/";
  private static final String API = "api/";
  private static final String PROCESS = "process/";

  /**
   * What the code says in another form than one constant. If the text is no longer in the file, the
   * figures have to be looked at again.
   *
   * @param row how the row begins
   * @param file module and class, or a path from the root
   */
  record Written(String row, String file, String text, List<String> figures) {}

  private static final String POLICIES = "charts/tranche/templates/";
  private static final String ALL_TIMES =
      "DEFAULT = new Timing(30_000, 60_000, 15_000, 600_000, 60_000, 30_000)";

  static final List<Written> WRITTEN =
      List.of(
          rate("patches of a node's label `", "DraLabels", "4, 60_000, 256, 50", "4", "256", "50"),
          rate(
              "patches of a node's labels",
              "NodeLabels",
              "10, 10_000, 256, 50",
              "10",
              "10 s",
              "256",
              "50"),
          rate(
              "attempts to remove a node's",
              "StartupTaints",
              "5, 10_000, 256, 50",
              "5",
              "10 s",
              "256",
              "50"),
          rate("events on the ConfigMap of", "ConfigMapEvents", "8, 60_000, 16, 1", "8", "16"),
          rate(
              "events about a node's annotation",
              "UnknownCordons",
              "5, 600_000, EVENTS_PER_CHECK_MAX, 1",
              "5",
              "10 min"),
          written(
              "events about a node's annotation",
              EXTENDER + "UnknownCordons",
              "EVENTS_PER_CHECK_MAX = 10;",
              "10"),
          rate("wake-ups of pending pods by one", "PodWaker", "10, 10_000, 10, 1", "10", "10 s"),
          rate(
              "events `GpuAllocatedTwice`",
              "DuplicateAllocations",
              "32, 10_000, 256, 10",
              "32",
              "10 s",
              "256",
              "10"),
          rate(
              "lookups of pods because",
              "PodChecks",
              "128, 200, 2 * WAITING_MAX, 100",
              "128",
              "5",
              "2,048",
              "100"),
          rate(
              "events that a node reports, and",
              "NodeEventWriter",
              "EVENTS_MAX, 10_000, 256, 20",
              "10 s",
              "256",
              "20"),
          written("deleted pods that are remembered", EXTENDER + "Timing", ALL_TIMES, "15 s"),
          written("a tentative hold", EXTENDER + "Timing", ALL_TIMES, "30 s"),
          written("a binding that no watch", EXTENDER + "Timing", ALL_TIMES, "60 s"),
          written(
              "a binding that no watch",
              EXTENDER + "ReportApplier",
              "CHECK_EVERY_MS = 10_000;",
              "10 s"),
          written("a nominated pod's hold", EXTENDER + "Timing", ALL_TIMES, "10 min"),
          written("the grace period of a pod", EXTENDER + "Timing", ALL_TIMES, "10 min"),
          written(
              "lookups of pods because", EXTENDER + "PodChecks", "WAITING_MAX = 1_024;", "2,048"),
          written("events that tell why pods wait", EXTENDER + "WaitEvents", "BURST = 50;", "50"),
          written(
              "events that tell why pods wait", EXTENDER + "WaitEvents", "PER_SECOND = 10;", "10"),
          written(
              "events that tell why pods wait",
              EXTENDER + "WaitEvents",
              "BETWEEN_MS = 300_000;",
              "5"),
          written(
              "events that tell why pods wait",
              EXTENDER + "WaitEvents",
              "REPEAT_MS = 3_000_000;",
              "50"),
          written(
              "reasons of pending pods",
              EXTENDER + "Explanations",
              ".expireAfterWrite(Duration.ofMinutes(10))",
              "10"),
          written(
              "labels and annotations of a pod that",
              POLICIES + "podsizepolicy.yaml",
              "object.metadata.labels.size() <= 64",
              "64"),
          written(
              "labels and annotations of a pod that",
              POLICIES + "podsizepolicy.yaml",
              "object.metadata.annotations.size() <= 256",
              "256"),
          written(
              "annotations of a pod under",
              POLICIES + "guardpolicies.yaml",
              "size(object.metadata.annotations) <= 1000 || variables.before",
              "1,000"),
          written(
              "annotations that the policies",
              POLICIES + "admissionpolicies.yaml",
              "size(object.metadata.annotations) > 1000 || object",
              "1,000"),
          written(
              "lists that the API server checks",
              POLICIES + "guardpolicies.yaml",
              "size(variables.given) <= 1000 && (!has(object.spec.volumes) ||"
                  + " size(object.spec.volumes) <= 1000)",
              "1,000"),
          written(
              "lists that the API server checks",
              POLICIES + "guardpolicies.yaml",
              "(!has(c.ports) || size(c.ports) <= 1000) && (!has(c.volumeMounts) ||"
                  + " size(c.volumeMounts) <= 1000)",
              "1,000"),
          written(
              "updates of pods that reach",
              POLICIES + "webhookconfiguration.yaml",
              "size(c.env) <= 1000 && c.env.exists",
              "1,000"),
          written(
              "PodDisruptionBudgets that",
              EXTENDER + "BudgetStore",
              "BUDGET_CHARS_MAX = 16 << 10;",
              "16 KiB"),
          written(
              "PodDisruptionBudgets that",
              EXTENDER + "BudgetStore",
              " CHARS_MAX = 4 << 20;",
              "4 MiB"),
          written(
              "nodes offered to a pod",
              EXTENDER + "ExtenderSetting",
              "OFFERED_NODES_MAX( \"64\",",
              "64"),
          written(
              "age of a load reading |",
              EXTENDER + "ExtenderSetting",
              "LOAD_STALE_AFTER_MS(\"15000\",",
              "15 s"),
          written(
              "time of work up to which",
              EXTENDER + "ExtenderSetting",
              "MEASURED_AFTER_MS( \"30000\",",
              "30 s"),
          written(
              "time of work up to which",
              EXTENDER + "Timing",
              "IDLE_AFTER_TIMES_YOUNG = 10;",
              "5 min"),
          written(
              "memory of the history of GPUs",
              EXTENDER + "ExtenderSetting",
              "HISTORY_MEMORY( \"20Mi\",",
              "20 MiB"),
          written(
              "pods whose last decision",
              EXTENDER + "Explanations",
              ".maximumWeight(PODS_MAX * POD_BYTES)",
              "8 MiB"),
          written(
              "pods whose last decision",
              EXTENDER + "Explanations",
              "POD_BYTES = 4 << 10;",
              "8 MiB"),
          written(
              "rights of tokens that",
              EXTENDER + "Access",
              "ALLOWED_FOR = Duration.ofSeconds(10);",
              "10 s"),
          written(
              "rights of tokens that",
              EXTENDER + "Access",
              "EXEMPT_FOR = Duration.ofMinutes(5);",
              "5 min"),
          written(
              "time that a revoked token",
              EXTENDER + "Access",
              "ALLOWED_FOR = Duration.ofSeconds(10);",
              "10 s",
              "16 s"),
          written(
              "connections of the read API",
              EXTENDER + "ReadApi",
              "REMOTE = ConnectionLimits.of(96, 80);",
              "96",
              "80"),
          written("pods that the read API", EXTENDER + "ViewRate", "perSecondMax / 2", "5"),
          written("questions of what-if", EXTENDER + "ViewRate", "perSecondMax / 2", "5"),
          written(
              "connections of the read API",
              EXTENDER + "ReadApi",
              "PROXIED = ConnectionLimits.of(48, 32);",
              "48",
              "32"),
          written(
              "connections of the read API",
              EXTENDER + "ReadApi",
              "LOCAL = ConnectionLimits.of(96, 96);",
              "96"),
          written(
              "connections of the extender's port for kube",
              EXTENDER + "VerbServer",
              "REMOTE = ConnectionLimits.of(256, 128);",
              "256",
              "128"),
          written(
              "connections of the extender's port for kube",
              EXTENDER + "VerbServer",
              "LOCAL = ConnectionLimits.of(2_048, 16)",
              "2,048",
              "16"),
          written(
              "connections of the webhook's",
              WEBHOOK + "AdmissionVerticle",
              "ConnectionLimits.of(128, 40)",
              "128",
              "40"),
          written(
              "connections of a port for metrics",
              PROCESS + "ConnectionLimits",
              "new ConnectionLimits(32, 8, FIRST_REQUEST_MS, IDLE_MS, true, PLAIN_SAFE_MS, 64, 0)",
              "32",
              "8"),
          written(
              "accepted connections that wait",
              PROCESS + "ConnectionLimits",
              "IDLE_MS, true, PLAIN_SAFE_MS, 64, 0)",
              "64"),
          written(
              "calls of one connection",
              PROCESS + "ListeningPort",
              "WINDOW_BYTES = (64 << 10) - 1;",
              "64 KiB"),
          written(
              "pods remembered with a node's load",
              EXTENDER + "LoadCache",
              "maxMemory() / (2 << 10)",
              "2 KiB"),
          written(
              "age of an extender's own",
              EXTENDER + "LeaseElection",
              "VALID = Duration.ofSeconds(10);",
              "10 s"),
          written(
              "age of an extender's own",
              EXTENDER + "LeaseElection",
              "LEASE = Duration.ofSeconds(15);",
              "15 s"),
          written("log lines that others can", PROCESS + "LineLimiter", "PERIOD_S = 60;", "60 s"),
          written(
              "node affinity that is kept",
              WEBHOOK + "NodeAffinityPatch",
              "RequestBounds.EXPRESSIONS_MAX / 2",
              "128"),
          written(
              "node affinity that is kept",
              WEBHOOK + "NodeAffinityPatch",
              "RequestBounds.VALUES_MAX / 2",
              "4,096"),
          written(
              "node affinity that is kept", API + "RequestBounds", "EXPRESSIONS_MAX = 256;", "128"),
          written(
              "node affinity that is kept", API + "RequestBounds", "VALUES_MAX = 8_192;", "4,096"),
          written(
              "entries of `gpu-model`",
              WEBHOOK + "PlacementAnnotations",
              "LIST_CHARS_MAX = LIST_ENTRIES_MAX * 66;",
              "4,224"));

  /** Figures that were measured, or that explain a bound; no code has them. */
  static final Map<String, List<String>> MEASURED =
      Map.of(
          "failed waits for GPU errors", List.of("30 s"),
          "events of one lasting problem", List.of("1"),
          "pods kept that wait", List.of("100,000", "90", "7,000", "100", "8 MiB"),
          "pods kept on one node", List.of("100,000", "13 MiB"),
          "work of one preemption", List.of("8", "80", "1,300"),
          "the head of a request", List.of("1"),
          "requests of one connection", List.of("1"),
          "memory that one review may cost", List.of("40 MiB", "12"));

  private static Written written(String row, String file, String text, String... figures) {
    return new Written(row, file, text, List.of(figures));
  }

  private static Written rate(String row, String file, String limits, String... figures) {
    return written(row, EXTENDER + file, "RATE = new NodeRate.Limits(" + limits + ");", figures);
  }

  private WrittenBounds() {}
}
