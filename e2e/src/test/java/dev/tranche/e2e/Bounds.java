package dev.tranche.e2e;

import java.util.List;
import java.util.Map;

/** Where the code has the figures of the table of bounds in docs/limits.md. */
final class Bounds {
  private static final String EXTENDER = "extender/";
  private static final String PLUGIN = "node-plugin/";
  private static final String WEBHOOK = "webhook/";
  private static final String API = "api/";
  private static final String PROCESS = "process/";

  /**
   * A figure of a row.
   *
   * @param row how the row begins
   * @param file module and class
   * @param constant where the code has it; its name ends in its unit
   */
  record Bound(String row, String file, String constant) {}

  static final List<Bound> CONSTANTS =
      List.of(
          new Bound("replicas on a node", API + "RequestBounds", "REPLICAS_MAX"),
          new Bound("ListAndWatch calls of one", PLUGIN + "DeviceStreams", "OPEN_MAX"),
          new Bound("sockets of one resource in", PLUGIN + "PluginSockets", "OTHERS_MAX"),
          new Bound("paths to which the node plugin", PLUGIN + "FileAccess", "LOGGED_MAX"),
          new Bound("a pick of the config just", PLUGIN + "ReplicasAtPick", "REPLACED_MS"),
          new Bound("a pick of the config just", PLUGIN + "ReplicasAtPick", "EARLIER_MAX"),
          new Bound("a config file of the node", PLUGIN + "ConfigSource", "SIZE_MAX_BYTES"),
          new Bound("a file that the node plugin", PLUGIN + "AtomicFile", "BYTES_MAX"),
          new Bound("GPUs in one request", API + "RequestBounds", "GPUS_MAX"),
          new Bound("replicas in one pod", API + "RequestBounds", "REPLICAS_MAX"),
          new Bound("replicas in one pod", API + "RequestBounds", "CONTAINERS_MAX"),
          new Bound("annotation of a share", API + "RequestBounds", "VALUE_CHARS_MAX"),
          new Bound("earlier numbers of replicas per GPU", EXTENDER + "UseOfGpu", "EARLIER_MAX"),
          new Bound("a cache of the dynamic linker", PLUGIN + "LdCache", "BYTES_MAX"),
          new Bound("failed waits for GPU errors", PLUGIN + "ErrorWatch", "FAILURES_MAX"),
          new Bound("what waiting pods request", EXTENDER + "UnschedulablePods", "CHARS_MAX"),
          new Bound("waiting pods that are woken", EXTENDER + "UnschedulablePods", "PODS_MAX"),
          new Bound("pods kept that wait", EXTENDER + "KeptPods", "WAITING_MAX"),
          new Bound("pods kept that wait", EXTENDER + "KeptPods", "WAITING_BYTES_MAX"),
          new Bound("pods kept on one node", EXTENDER + "KeptPods", "ON_NODE_MAX"),
          new Bound("pods kept on one node", EXTENDER + "KeptPods", "ON_NODE_FAIR"),
          new Bound("pods kept on one node", EXTENDER + "KeptPods", "FAIR_BYTES"),
          new Bound("one turn of `filter`", EXTENDER + "Filter", "ANEW_MAX"),
          new Bound("a body of kube-scheduler's", EXTENDER + "VerbRoutes", "READ_HERE_BYTES_MAX"),
          new Bound("deleted pods that are remembered", EXTENDER + "LedgerState", "TOMBSTONES_MAX"),
          new Bound("what is kept of a pod", EXTENDER + "PodLabels", "LABELS_MAX"),
          new Bound("PodDisruptionBudgets that", EXTENDER + "BudgetStore", "PER_NAMESPACE_MAX"),
          new Bound("PodDisruptionBudgets that", EXTENDER + "BudgetStore", "COUNT_MAX"),
          new Bound("a bound pod whose GPU is", EXTENDER + "NodeEvaluator", "UNKNOWN_GPU_MS"),
          new Bound("ResourceSlices and", EXTENDER + "DraNodes", "SLICES_MAX"),
          new Bound("ResourceSlices and", EXTENDER + "DraNodes", "CLASSES_MAX"),
          new Bound("pod groups", EXTENDER + "Gangs", "GROUPS_MAX"),
          new Bound("pod groups", EXTENDER + "Gangs", "MEMBERS_MAX"),
          new Bound("pod groups", EXTENDER + "Gangs", "MINIMUMS_MAX"),
          new Bound("requests of kube-scheduler at", EXTENDER + "RequestLimiter", "CALLS_MAX"),
          new Bound("requests of kube-scheduler at", EXTENDER + "RequestLimiter", "BYTES_MAX"),
          new Bound("a decision", EXTENDER + "NodeEvaluator", "DECIDE_WITHIN_MS"),
          new Bound("search for a pod's GPUs", EXTENDER + "SearchBudget", "MAX"),
          new Bound("search for a pod's GPUs", EXTENDER + "SearchBudget", "ATTEMPT_MAX"),
          new Bound("search for a pod's GPUs", EXTENDER + "Shares", "COUNT_MAX"),
          new Bound("search for a pod's GPUs", EXTENDER + "FailedSearches", "MAX"),
          new Bound("binds at once", EXTENDER + "Bind", "IN_FLIGHT_MAX"),
          new Bound("nodes that preemption looks", EXTENDER + "Preempt", "NODES_MAX"),
          new Bound("work of one preemption", EXTENDER + "Preempt", "WORK_MAX"),
          new Bound("time that a preemption waits", EXTENDER + "Preempt", "KNOWN_WITHIN_MS"),
          new Bound("unexpected exceptions that are", EXTENDER + "Failures", "LOGGED_MAX"),
          new Bound("one turn of a preemption", EXTENDER + "Turn", "WORK_MAX"),
          new Bound("one turn of a preemption", EXTENDER + "Turn", "MS_MAX"),
          new Bound("shapes of pods that", EXTENDER + "Shapes", "SHAPES_MAX"),
          new Bound("shapes of pods that", EXTENDER + "Shapes", "PODS_MAX"),
          new Bound("pods on their GPUs that the", EXTENDER + "ClusterView", "LEARNED_FROM_MAX"),
          new Bound("silence of a node", EXTENDER + "StreamServer", "SILENCE_MS"),
          new Bound("pods that the API server is", EXTENDER + "PodChecks", "IN_FLIGHT_MAX"),
          new Bound("assignments that a node reports", EXTENDER + "NodeEntry", "ECHOED_MAX"),
          new Bound(
              "writes of `tranche.dev/gpu", EXTENDER + "NodeUseWriter", "WRITES_PER_SECOND_MAX"),
          new Bound("writes of `tranche.dev/gpu", EXTENDER + "NodeUseWriter", "WHILE_PODS_WAIT_MS"),
          new Bound("writes of `tranche.dev/gpu", EXTENDER + "NodeUseWriter", "BURST_MS"),
          new Bound("deleted pods that a node", PLUGIN + "Assignments", "RETRACTED_MAX"),
          new Bound("deleted pods that a node", PLUGIN + "Assignments", "RETRACTED_MS"),
          new Bound("nodes that `kubectl tranche explain`", EXTENDER + "Explanations", "NODES_MAX"),
          new Bound("nominated pods that a new", EXTENDER + "NominatedPods", "PODS_MAX"),
          new Bound("what a node may report", EXTENDER + "ReportBounds", "GPUS_MAX"),
          new Bound("what a node may report", API + "RequestBounds", "REPLICAS_MAX"),
          new Bound("what a node may report", EXTENDER + "ReportBounds", "ASSIGNMENTS_MAX"),
          new Bound("what a node may report", EXTENDER + "ReportBounds", "EVENTS_MAX"),
          new Bound("time without pods for a node", EXTENDER + "AckBackoff", "FIRST_MS"),
          new Bound("time without pods for a node", EXTENDER + "AckBackoff", "LONGEST_MS"),
          new Bound("work that a node's reports", EXTENDER + "ReportWork", "UNITS_PER_S"),
          new Bound("work that a node's reports", EXTENDER + "ReportWork", "UNITS_BURST"),
          new Bound("work of all nodes' reports", EXTENDER + "ReportTurns", "UNITS_PER_S"),
          new Bound("work of all nodes' reports", EXTENDER + "ReportTurns", "UNITS_AT_ONCE"),
          new Bound("events that a node reports", EXTENDER + "NodeEventWriter", "EVENTS_MAX"),
          new Bound("streams of one node without", EXTENDER + "NodeStreams", "UNREPORTED_MAX"),
          new Bound("log lines that others can", PROCESS + "LineLimiter", "LINES_MAX"),
          new Bound("log lines that others can", PROCESS + "LineLimiter", "SENDERS_MAX"),
          new Bound("how fast a node may", EXTENDER + "ReportRate", "MESSAGES_PER_S"),
          new Bound("how fast a node may", EXTENDER + "ReportRate", "MESSAGES_BURST"),
          new Bound("how fast a node may", EXTENDER + "ReportRate", "BYTES_BURST"),
          new Bound("how fast a node may", EXTENDER + "ReportRate", "OWN_MESSAGES_PER_S"),
          new Bound("how fast a node may", EXTENDER + "ReportRate", "OWN_MESSAGES_BURST"),
          new Bound("how fast a node may", EXTENDER + "ReportRate", "OWN_BYTES_BURST"),
          new Bound("how fast a node may", EXTENDER + "ReportRate", "ADDRESSES_MAX"),
          new Bound("size of all nodes' last", EXTENDER + "StreamServer", "FAIR_BYTES"),
          new Bound(
              "assignments that a node reports", EXTENDER + "LedgerState", "ECHOED_IN_ALL_MAX"),
          new Bound("a pod's request in terms", EXTENDER + "RequestsByReplicas", "COUNT_MAX"),
          new Bound("models of GPUs that `packed`", EXTENDER + "Stranding", "MODELS_MAX"),
          new Bound("what is read of a process's", PLUGIN + "UsageReader", "PROGRAM_BYTES_MAX"),
          new Bound("what is read of a process's", PLUGIN + "UsageReader", "CGROUP_BYTES_MAX"),
          new Bound("what is read of a process's", PLUGIN + "ControlDaemon", "PROC_BYTES_MAX"),
          new Bound("pods remembered with a", EXTENDER + "LoadCache", "PODS_MAX"),
          new Bound("age of a load reading, as", EXTENDER + "ReportReader", "READING_AGE_MS_MAX"),
          new Bound("silence of a watch of", EXTENDER + "WatchHealth", "SILENCE_MS_MAX"),
          new Bound("a page of a list of the", EXTENDER + "ObjectDecoder", "PAGE_BYTES_MAX"),
          new Bound("a page of a list of the", EXTENDER + "ObjectDecoder", "JSON_BYTES_MAX"),
          new Bound("an object that the API", EXTENDER + "ObjectDecoder", "OBJECT_BYTES_MAX"),
          new Bound("an object that the API", PROCESS + "Connections", "MESSAGE_BYTES_MAX"),
          new Bound("time from a decision until", EXTENDER + "Bind", "SEND_WITHIN_MS"),
          new Bound(
              "connections of the extender's port for nodes",
              EXTENDER + "StreamServer",
              "CONNECTIONS_MAX"),
          new Bound(
              "connections of the extender's port for nodes",
              EXTENDER + "StreamServer",
              "ADMITTED_MAX"),
          new Bound(
              "connections of the extender's port for nodes",
              EXTENDER + "StreamServer",
              "PER_ADDRESS_MAX"),
          new Bound("accepted connections that", PROCESS + "ConnectionLimits", "WAITING_MAX"),
          new Bound("accepted connections that", PROCESS + "ConnectionLimiter", "WAITING_MS"),
          new Bound("accepted connections that", EXTENDER + "StreamServer", "WAITING_MAX"),
          new Bound("the head of a request", PROCESS + "Http1Framing", "HEAD_LINES_MAX"),
          new Bound("the head of a request", PROCESS + "ListeningPort", "LINE_BYTES_MAX"),
          new Bound("the head of a request", PROCESS + "ListeningPort", "HEAD_BYTES_MAX"),
          new Bound("the rest of a body", PROCESS + "Http1Guard", "REST_MS_MAX"),
          new Bound(
              "calls of one connection", PROCESS + "ListeningPort", "STREAMS_PER_CONNECTION_MAX"),
          new Bound("addresses that a port knows", PROCESS + "KnownAddresses", "ADDRESSES_MAX"),
          new Bound("messages of gRPC", EXTENDER + "StreamServer", "MESSAGE_BYTES_MAX"),
          new Bound("time from a connection to", PROCESS + "ConnectionLimits", "FIRST_REQUEST_MS"),
          new Bound("time from a connection to", EXTENDER + "StreamServer", "FIRST_REQUEST_MS"),
          new Bound("time between two requests", PROCESS + "ConnectionLimits", "IDLE_MS"),
          new Bound("reviews in flight in the", WEBHOOK + "ReviewBodyReader", "BODY_BYTES_MAX"),
          new Bound("reviews in flight in the", WEBHOOK + "ReviewBodyReader", "BODIES_BYTES_MAX"),
          new Bound("length of a value in a pod", WEBHOOK + "ReviewReader", "NAME_BYTES_MAX"),
          new Bound(
              "length of a value in a pod", WEBHOOK + "ReviewReader", "ANNOTATIONS_BYTES_MAX"),
          new Bound("fields and list entries", API + "RequestBounds", "FIELDS_MAX"),
          new Bound("fields and list entries", API + "RequestBounds", "TEXT_BYTES_MAX"),
          new Bound("what chooses nodes in a pod", API + "RequestBounds", "EXPRESSIONS_MAX"),
          new Bound("what chooses nodes in a pod", API + "RequestBounds", "VALUES_MAX"),
          new Bound("resources in one container", API + "RequestBounds", "RESOURCES_MAX"),
          new Bound("entries of `gpu-model`", WEBHOOK + "PlacementAnnotations", "LIST_ENTRIES_MAX"),
          new Bound("sentences in one denial", WEBHOOK + "Denial", "PER_POD_MAX"),
          new Bound("text of others in logs", API + "Printable", "VALUE_CHARS_MAX"),
          new Bound("text of others in logs", API + "Printable", "NAME_CHARS_MAX"),
          new Bound("text of others in logs", PROCESS + "LogFormatter", "MESSAGE_CHARS_MAX"),
          new Bound("pods known not to have", EXTENDER + "PodEventQueue", "KNOWN_MAX"),
          new Bound("pods known whose number", EXTENDER + "PodEventQueue", "KNOWN_MAX"),
          new Bound("pending pods sized for", EXTENDER + "PodEventQueue", "KNOWN_MAX"),
          new Bound("processes on one GPU", PLUGIN + "NvmlTelemetry", "PROCESSES_MAX"),
          new Bound("values of a config, with", PLUGIN + "GoYaml", "VALUES_MAX"),
          new Bound("scrapes of the extender at once", EXTENDER + "ScrapePlaces", "AT_ONCE_MAX"),
          new Bound("scrapes of the extender at once", EXTENDER + "ScrapePlaces", "STALLED_MS_MAX"),
          new Bound("requests of the read API at", EXTENDER + "Endpoint", "AT_ONCE_MAX"),
          new Bound("requests of the read API at", EXTENDER + "Endpoint", "PER_ADDRESS_MAX"),
          new Bound("bodies posted to the read", EXTENDER + "Endpoint", "BODIES_BYTES_MAX"),
          new Bound("an answer of the read API", EXTENDER + "ListQuery", "LIMIT_MAX"),
          new Bound("an answer of the read API", EXTENDER + "Page", "BYTES_MAX"),
          new Bound("an answer of the read API", EXTENDER + "ReadApi", "ANSWERED_MS_MAX"),
          new Bound("pods that the read API", EXTENDER + "Answers", "EXPLANATIONS_PER_SECOND_MAX"),
          new Bound("pods that the read API", EXTENDER + "Turn", "MS_MAX"),
          new Bound("readers of the read API's", EXTENDER + "EventStream", "READERS_MAX"),
          new Bound("readers of the read API's", EXTENDER + "EventStream", "READERS_PER_OWNER_MAX"),
          new Bound("a reader of the stream", EXTENDER + "StreamReader", "TAKES_NOTHING_MS_MAX"),
          new Bound("a reader of the stream", EXTENDER + "StreamReader", "BEHIND_BYTES_MAX"),
          new Bound("time that a revoked token", EXTENDER + "StreamReader", "REVIEW_MS"),
          new Bound("pods whose last decision", EXTENDER + "Explanations", "PODS_MAX"),
          new Bound("questions of what-if", EXTENDER + "WhatIfAnswers", "PER_SECOND_MAX"),
          new Bound("questions of what-if", EXTENDER + "WhatIfAnswers", "AT_ONCE_MAX"),
          new Bound("a question of what-if", EXTENDER + "Endpoint", "BODY_BYTES_MAX"),
          new Bound("a question of what-if", EXTENDER + "WhatIf", "COUNT_MAX"),
          new Bound("a question of what-if", EXTENDER + "WhatIf", "PLACE_WITHIN_MS"),
          new Bound("what a question of what-if", API + "RequestBounds", "FIELDS_MAX"),
          new Bound("a turn of a question", EXTENDER + "Turn", "MS_MAX"),
          new Bound("an answer of the history", EXTENDER + "GpuHistory", "POINTS_MAX"),
          new Bound("an answer of the history", EXTENDER + "GpuHistory", "ANSWER_POINTS_MAX"),
          new Bound("an answer of the history", EXTENDER + "GpuHistory", "ANSWER_GPUS_MAX"),
          new Bound(
              "tokens of one address that the read API", EXTENDER + "Access", "REFUSED_BURST"),
          new Bound("rights of tokens that", EXTENDER + "Access", "REMEMBERED_MAX"),
          new Bound(
              "tokens of one address that are refused",
              EXTENDER + "StreamServer",
              "PER_ADDRESS_MAX"),
          new Bound("MPS clients of a GPU", PLUGIN + "MpsClientLimit", "SINCE_VOLTA"),
          new Bound("MPS clients of a GPU", PLUGIN + "MpsClientLimit", "BEFORE_VOLTA"),
          new Bound("replicas on a node", PLUGIN + "KubeletLink", "MESSAGE_MAX_BYTES"),
          new Bound("failed waits for GPU errors", PLUGIN + "GpuWatch", "REOPEN_MAX_MS"),
          new Bound(
              "one turn that tries waiting pods", EXTENDER + "UnschedulablePods", "WITHIN_MS"),
          new Bound("one turn of `filter`", EXTENDER + "Turn", "MS_MAX"),
          new Bound(
              "what a question of what-if may contain", API + "RequestBounds", "TEXT_BYTES_MAX"),
          new Bound(
              "what a question of what-if may contain",
              API + "RequestBounds",
              "POD_CONTAINERS_MAX"),
          new Bound("time that a revoked token", EXTENDER + "StreamReader", "REVIEW_MS"),
          new Bound("memory of the history of GPUs", EXTENDER + "GpuHistory", "WINDOW_MS"),
          new Bound(
              "assignments that a node reports of unknown",
              EXTENDER + "LedgerState",
              "ECHOED_FAIR"),
          new Bound(
              "nodes that `kubectl tranche explain`",
              EXTENDER + "Explanations",
              "NODES_OF_BOUND_MAX"),
          new Bound("how fast a node may report", EXTENDER + "ReportRate", "BYTES_PER_S"),
          new Bound("how fast a node may report", EXTENDER + "ReportRate", "OWN_BYTES_PER_S"),
          new Bound(
              "calls of one connection of the port", PROCESS + "ListeningPort", "HEAD_BYTES_MAX"),
          new Bound("length of a value in a pod", WEBHOOK + "ReviewReader", "PATH_BYTES_MAX"),
          new Bound(
              "memory that one review may cost", WEBHOOK + "ReviewBodyReader", "BODIES_BYTES_MAX"),
          new Bound("text of others in logs", API + "Printable", "MESSAGE_CHARS_MAX"),
          new Bound("events that a node keeps", PLUGIN + "EventBuffer", "KEPT_MAX"));

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
              "NodeFindings",
              "5, 600_000, EVENTS_PER_CHECK_MAX, 1",
              "5",
              "10 min"),
          rate(
              "events about labels that",
              "NodeFindings",
              "5, 600_000, EVENTS_PER_CHECK_MAX, 1",
              "5",
              "10 min"),
          written(
              "events about a node's annotation",
              EXTENDER + "NodeFindings",
              "EVENTS_PER_CHECK_MAX = 10;",
              "10"),
          written(
              "events about labels that",
              EXTENDER + "NodeFindings",
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
              "size(variables.given) <= 1000 && (!has(object.spec.volumes) || size(object.spec.volumes) <= 1000)",
              "1,000"),
          written(
              "lists that the API server checks",
              POLICIES + "guardpolicies.yaml",
              "(!has(c.ports) || size(c.ports) <= 1000) && (!has(c.volumeMounts) || size(c.volumeMounts) <= 1000)",
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
              "HISTORY_MEMORY( \"16Mi\",",
              "16 MiB"),
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
          "memory that one review may cost", List.of("12"));

  private static Written written(String row, String file, String text, String... figures) {
    return new Written(row, file, text, List.of(figures));
  }

  private static Written rate(String row, String file, String limits, String... figures) {
    return written(row, EXTENDER + file, "RATE = new NodeRate.Limits(" + limits + ");", figures);
  }

  private Bounds() {}
}
