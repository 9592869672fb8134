package dev.tranche.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The table of bounds in docs/limits.md has the figures that the code has. */
class BoundsPageTest {
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
  private record Bound(String row, String file, String constant) {}

  private static final List<Bound> BOUNDS =
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
          new Bound("nodes that one tick", EXTENDER + "HoldExpiry", "NODES_MAX"),
          new Bound("nodes that one tick", EXTENDER + "NodeFitCache", "MARKED_MAX"),
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
          new Bound("unexpected exceptions that are", PROCESS + "PartFailures", "LOGGED_MAX"),
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
          new Bound("connections of the extender's", EXTENDER + "StreamServer", "CONNECTIONS_MAX"),
          new Bound("connections of the extender's", EXTENDER + "StreamServer", "ADMITTED_MAX"),
          new Bound("connections of the extender's", EXTENDER + "StreamServer", "PER_ADDRESS_MAX"),
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
          new Bound("tokens of one address that", EXTENDER + "Access", "REFUSED_BURST"),
          new Bound("rights of tokens that", EXTENDER + "Access", "REMEMBERED_MAX"),
          new Bound("events that a node keeps", PLUGIN + "EventBuffer", "KEPT_MAX"));

  /** Rows whose figure is no constant of that name: a flag's default, a rule, or several. */
  private static final Set<String> OTHERS =
      Set.of(
          "MPS clients of a GPU",
          "memory of what is made of all",
          "names of pods that request a GPU",
          "labels and annotations of a pod",
          "one turn that tries waiting pods",
          "nodes offered to a pod",
          "age of a load reading",
          "time of work up to which",
          "a tentative hold",
          "age of a node's list",
          "a binding that no watch",
          "a nominated pod's hold",
          "the grace period of a pod",
          "tokens of one address",
          "age of an extender's own Lease",
          "connections of the webhook's",
          "what is kept for the stream's",
          "requests of one connection",
          "bodies of requests",
          "connections of a port for metrics",
          "connections of the read API",
          "memory of the history of GPUs",
          "memory that one review",
          "patches of a node's labels",
          "attempts to remove a node's startup",
          "events about a node's annotation",
          "events on the ConfigMap of",
          "events about labels that contradict a node's report",
          "node affinity that is kept for nodes of an earlier",
          "wake-ups of pending pods by one",
          "patches of a node's label `tranche.dev/gpus-served-by`",
          "events `GpuAllocatedTwice`",
          "lookups of pods because",
          "lists that the API server checks",
          "annotations of a pod under",
          "annotations that the policies",
          "updates of pods that reach the webhook",
          "events of one lasting problem",
          "events of a GPU that stays");

  @Test
  void figures_areThoseOfTheCode() throws IOException {
    List<String> rows = rows();
    for (Bound bound : BOUNDS) {
      List<String> shown = shown(bound);
      assertThat(rows)
          .filteredOn(row -> row.startsWith(bound.row()))
          .as("%s: %s", bound, shown)
          .isNotEmpty()
          .anySatisfy(
              row ->
                  assertThat(shown)
                      .filteredOn(figure -> !figure.startsWith("0 "))
                      .anyMatch(
                          figure -> row.matches(".*(?<![\\d,])" + figure + "(?![\\d,]\\d).*")));
    }
  }

  @Test
  void everyRow_isHeldAgainstTheCode_orSaidToBeNone() throws IOException {
    Set<String> known =
        Stream.concat(BOUNDS.stream().map(Bound::row), OTHERS.stream()).collect(Collectors.toSet());
    Predicate<String> unknown = row -> known.stream().noneMatch(row::startsWith);
    assertThat(rows()).hasSizeGreaterThan(50).filteredOn(unknown).isEmpty();
    assertThat(known).allMatch(start -> rowsStart(start));
  }

  /** Connections times what each takes, and the bodies of a port; rounded up. */
  @Test
  void whatStrangersCanTake_addsUp_toHalfOfEachHeapAtMost() throws IOException {
    String page = Files.readString(Path.of("../docs/limits.md"));
    int start = page.indexOf("## What strangers can take");
    String section = page.substring(start, page.indexOf("\n## ", start));
    Map<String, Long> mibByPart = new HashMap<>();
    section
        .lines()
        .filter(line -> line.matches("\\| (webhook|extender|node plugin), .*"))
        .map(line -> line.split(" *\\| *"))
        .forEach(
            row -> {
              long connections = numbers(row[2]).sum();
              long kib = connections * numbers(row[3]).findFirst().orElseThrow();
              long mib = (kib + 1_023) / 1_024 + numbers(row[4]).sum();
              assertThat(row[5]).as(row[1]).isEqualTo(mib + " MiB");
              mibByPart.merge(row[1].substring(0, row[1].indexOf(',')), mib, Long::sum);
            });
    assertThat(mibByPart).containsOnlyKeys("webhook", "extender", "node plugin");
    mibByPart.forEach(
        (part, mib) -> {
          Matcher half = Pattern.compile("([0-9]+) MiB in the " + part).matcher(section);
          assertThat(half.find()).as(part).isTrue();
          assertThat(mib).as(part).isLessThanOrEqualTo(Long.parseLong(half.group(1)));
        });
  }

  private static LongStream numbers(String cell) {
    return Pattern.compile("[0-9]+(,[0-9]{3})*")
        .matcher(cell)
        .results()
        .mapToLong(number -> Long.parseLong(number.group().replace(",", "")));
  }

  private static boolean rowsStart(String start) {
    try {
      return rows().stream().anyMatch(row -> row.startsWith(start));
    } catch (IOException e) {
      return false;
    }
  }

  /** In the units that the page may have chosen. */
  private static List<String> shown(Bound bound) throws IOException {
    long value = value(bound);
    if (bound.constant().contains("BYTES")) {
      return List.of(
          (value >> 20) + " MiB",
          (value >> 10) + " KiB",
          grouped(value),
          grouped(value) + " bytes");
    }
    if (bound.constant().contains("_MS")) {
      return List.of(grouped(value) + " ms", value / 1_000 + " s", value / 60_000 + " min");
    }
    return List.of(grouped(value));
  }

  private static String grouped(long value) {
    return String.format(Locale.ROOT, "%,d", value);
  }

  private static long value(Bound bound) throws IOException {
    String code = Files.readString(file(bound));
    Matcher constant =
        Pattern.compile("\\b" + bound.constant() + " =\\s*([0-9_]+)L?(?: << ([0-9]+))?;")
            .matcher(code);
    assertThat(constant.find()).as("%s", bound).isTrue();
    long number = Long.parseLong(constant.group(1).replace("_", ""));
    return constant.group(2) == null ? number : number << Integer.parseInt(constant.group(2));
  }

  private static Path file(Bound bound) throws IOException {
    int slash = bound.file().indexOf('/');
    Path name = Path.of(bound.file().substring(slash + 1) + ".java");
    return Sources.of(bound.file().substring(0, slash), "main").stream()
        .filter(file -> file.endsWith(name))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no file of " + bound));
  }

  private static List<String> rows() throws IOException {
    String page = Files.readString(Path.of("../docs/limits.md"));
    return page.substring(page.indexOf("\n## Bounds"))
        .lines()
        .filter(line -> line.startsWith("| ") && !line.startsWith("| what |"))
        .map(line -> line.substring(2))
        .toList();
  }
}
