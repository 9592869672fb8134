package dev.tranche.extender.metrics;

import dev.tranche.extender.placement.Reason;
import dev.tranche.process.listen.ConnectionLimiter;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.DoubleStream;

/** The extender's counters, timers and gauges, by name. */
public final class ExtenderMetrics {
  /** Buckets in ms; the last is kube-scheduler's timeout in the chart's configuration. */
  private static final Duration[] LATENCIES =
      DoubleStream.of(0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
          .mapToObj(ms -> Duration.ofNanos((long) (ms * 1e6)))
          .toArray(Duration[]::new);

  public final Counter neutralPrioritizes;
  public final Counter bindsWithoutRoom;
  public final Counter ackTimeouts;
  public final Counter ackBackoffs;
  public final Counter drifts;
  public final Counter expiredHolds;
  public final Counter wakeUps;
  public final Counter waitingEvicted;

  private final MeterRegistry registry;
  private final Map<Verb, Timer> decided;
  private final Map<Verb, Timer> failed;
  private final Map<Verb, Counter> shed;
  private final Map<Reason, Counter> denied;
  private final Counter preemptKept;
  private final Counter preemptDropped;
  private final Counter preemptWork;
  private final AtomicLong clientStartS = new AtomicLong();
  private final AtomicLong clientEndS = new AtomicLong();

  public enum Verb {
    FILTER,
    PRIORITIZE,
    PACK,
    BIND,
    PREEMPT;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  public ExtenderMetrics(MeterRegistry registry) {
    this.registry = registry;
    decided = each(Verb.class, verb -> timer(verb, "decided"));
    failed = each(Verb.class, verb -> timer(verb, "error"));
    shed = each(Verb.class, this::sheds);
    denied = each(Reason.class, this::denials);
    neutralPrioritizes =
        counter(
            "tranche.extender.prioritize.neutral",
            "Prioritize calls answered with equal scores, because no decision was possible.");
    bindsWithoutRoom =
        counter(
            "tranche.extender.bind.replicas.taken",
            "Binds refused because the replicas were no longer free since filter.");
    ackTimeouts =
        counter(
            "tranche.extender.bind.ack.timeouts",
            "Binds that failed because the node did not acknowledge the assignment.");
    ackBackoffs =
        counter(
            "tranche.extender.ack.backoffs",
            "Times that a node was temporarily excluded because it did not acknowledge an"
                + " assignment.");
    drifts =
        counter(
            "tranche.extender.drift",
            "Pods to which the kubelet allocated other GPUs than assigned.");
    expiredHolds =
        counter("tranche.extender.holds.expired", "Tentative holds that were never bound.");
    wakeUps =
        counter(
            "tranche.extender.wake.ups",
            "Node patches that make kube-scheduler retry rejected pods.");
    preemptKept = preemptNodes("kept");
    preemptDropped = preemptNodes("dropped");
    preemptWork =
        counter(
            "tranche.extender.preempt.work",
            "Comparisons of the search for victims: of a pod with a GPU, or with a value of a"
                + " PodDisruptionBudget.");
    waitingEvicted =
        counter(
            "tranche.extender.waiting.evicted",
            "Rejected pods dropped from memory because too many wait; only other events requeue them.");
  }

  /** Creates all meters at the start, so that the first event of a kind is an increase. */
  private static <K extends Enum<K>, M> Map<K, M> each(Class<K> keys, Function<K, M> meter) {
    var all = new EnumMap<K, M>(keys);
    EnumSet.allOf(keys).forEach(key -> all.put(key, meter.apply(key)));
    return all;
  }

  private Timer timer(Verb verb, String outcome) {
    return Timer.builder("tranche.extender.verb.duration")
        .description("Time from a verb's request to its answer.")
        .tag("verb", verb.toString())
        .tag("outcome", outcome)
        .serviceLevelObjectives(LATENCIES)
        .register(registry);
  }

  private Counter sheds(Verb verb) {
    String help =
        "Requests refused unread because too many are queued or they are too large, or aborted"
            + " because their body was too slow.";
    return counter("tranche.extender.verbs.shed", help, "verb", verb.toString());
  }

  public void shed(Verb verb) {
    Objects.requireNonNull(shed.get(verb)).increment();
  }

  private Counter denials(Reason reason) {
    String help = "Nodes that filter refused, by reason.";
    String name = reason.name().toLowerCase(Locale.ROOT);
    return counter("tranche.extender.denied.nodes", help, "reason", name);
  }

  /** Registers the metrics of the connections of a port. */
  public void connections(String port, ConnectionLimiter connections) {
    Gauge.builder("tranche.extender.connections", connections, ConnectionLimiter::open)
        .description("Open connections of the port; bounded.")
        .tag("port", port)
        .register(registry);
    Gauge.builder("tranche.extender.connections.waiting", connections, ConnectionLimiter::waiting)
        .description("Accepted connections that wait until one of their address ends; bounded.")
        .tag("port", port)
        .register(registry);
    FunctionCounter.builder(
            "tranche.extender.connections.refused", connections, ConnectionLimiter::refused)
        .description(
            "Connections refused, closed in favour of others, for lack of a first request, or for a"
                + " request that the port does not take.")
        .tag("port", port)
        .register(registry);
  }

  /**
   * @param tags names, each followed by its value; the values must be few
   */
  public Counter counter(String name, String help, String... tags) {
    return Counter.builder(name).description(help).tags(tags).register(registry);
  }

  /** Registers a gauge with one tag; its values must be few. */
  public void gauge(String name, String help, String tag, String tagValue, Supplier<Number> value) {
    Gauge.builder(name, value)
        .description(help)
        .tag(tag, tagValue)
        .strongReference(true)
        .register(registry);
  }

  public void gauge(String name, String help, Supplier<Number> value) {
    Gauge.builder(name, value).description(help).strongReference(true).register(registry);
  }

  /**
   * Records the start and end of the certificate that kube-scheduler presents. The gauges exist
   * only once one was presented.
   */
  public void recordClientCertificate(X509Certificate certificate) {
    clientStartS.set(certificate.getNotBefore().toInstant().getEpochSecond());
    if (clientEndS.getAndSet(certificate.getNotAfter().toInstant().getEpochSecond()) == 0) {
      gauge(
          "tranche.extender.client.certificate.start.timestamp.seconds",
          "Start of the validity of the certificate that kube-scheduler last presented, in Unix"
              + " time.",
          "certificate",
          "kube-scheduler",
          clientStartS::get);
      gauge(
          "tranche.extender.client.certificate.expiry.timestamp.seconds",
          "When the certificate that kube-scheduler last presented expires, in Unix time.",
          "certificate",
          "kube-scheduler",
          clientEndS::get);
    }
  }

  public void answered(Verb verb, boolean error, long durationNs) {
    Objects.requireNonNull((error ? failed : decided).get(verb))
        .record(Duration.ofNanos(durationNs));
  }

  public void denied(Reason reason) {
    Objects.requireNonNull(denied.get(reason)).increment();
  }

  private Counter preemptNodes(String outcome) {
    String help =
        "Nodes that preemption was offered: kept with victims that free a GPU, or dropped.";
    return counter("tranche.extender.preempt.nodes", help, "outcome", outcome);
  }

  /** Counts pairs of a GPU and a pod that the search for victims has looked at. */
  public void preemptWork(long comparisons) {
    preemptWork.increment((double) comparisons);
  }

  public void preempted(int kept, int dropped) {
    preemptKept.increment(kept);
    preemptDropped.increment(dropped);
  }
}
