package dev.tranche.webhook;

import dev.tranche.api.listen.ConnectionLimiter;
import dev.tranche.webhook.guard.Finding;
import dev.tranche.webhook.guard.Found;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/** All that the webhook counts, by name. */
public final class WebhookMetrics {
  /** What became of a review. */
  public enum Outcome {
    UNCHANGED,
    PATCHED,
    DENIED,
    /** No AdmissionReview that we understand, or too large. */
    MALFORMED,
    /** Turned away unread: too much in flight. */
    SHED,
    /** Its body did not end in time. */
    TIMED_OUT,
    /** A defect of ours. */
    FAILED
  }

  private final MeterRegistry registry;
  private final Map<Outcome, Counter> admissions = new EnumMap<>(Outcome.class);
  private final Timer duration;
  private final Counter tlsFailures;
  private final Counter warnings;
  private final Map<Finding, Map<Found.Outcome, Counter>> guardFindings =
      new EnumMap<>(Finding.class);
  private final Counter guardExempt;
  private final Counter guardEventsDropped;
  private final Counter guardFailuresDenied;
  private final Counter guardFailuresAdmitted;

  public WebhookMetrics(MeterRegistry registry) {
    this.registry = registry;
    for (Outcome outcome : Outcome.values()) {
      admissions.put(
          outcome,
          Counter.builder("tranche_webhook_admissions")
              .description("Reviews answered, by what became of the pod")
              .tag("outcome", outcome.name().toLowerCase(Locale.ROOT))
              .register(registry));
    }
    duration =
        Timer.builder("tranche_webhook_admission_duration")
            .description("From a review's body read to its answer written")
            .serviceLevelObjectives(
                Duration.ofNanos(100_000),
                Duration.ofNanos(250_000),
                Duration.ofNanos(500_000),
                Duration.ofMillis(1),
                Duration.ofNanos(2_500_000),
                Duration.ofMillis(5),
                Duration.ofMillis(10),
                Duration.ofMillis(50),
                Duration.ofMillis(250),
                Duration.ofSeconds(1),
                Duration.ofSeconds(10))
            .register(registry);
    tlsFailures =
        Counter.builder("tranche_webhook_tls_failures")
            .description("Rounds of keeping certificates that failed and are tried again")
            .register(registry);
    warnings =
        Counter.builder("tranche_webhook_warnings")
            .description("Warnings given with an admission, such as a share rounded up")
            .register(registry);
    countGuard();
    guardExempt =
        counter(
            "tranche_webhook_guard_exempt",
            "Pods that the guard left alone for the sake of their ServiceAccount");
    guardEventsDropped =
        counter(
            "tranche_webhook_guard_events_dropped",
            "Events of the guard that were not written: too many, or refused");
    guardFailuresDenied = guardFailures("denied");
    guardFailuresAdmitted = guardFailures("admitted");
  }

  private Counter counter(String name, String help) {
    return Counter.builder(name).description(help).register(registry);
  }

  private Counter guardFailures(String outcome) {
    return Counter.builder("tranche_webhook_guard_failures")
        .description("Reviews that the guard failed on by a defect of its own")
        .tag("outcome", outcome)
        .register(registry);
  }

  private void countGuard() {
    for (Finding finding : Finding.values()) {
      var counters = new EnumMap<Found.Outcome, Counter>(Found.Outcome.class);
      for (Found.Outcome outcome : Found.Outcome.values()) {
        counters.put(
            outcome,
            Counter.builder("tranche_webhook_guard_findings")
                .description("Ways found in pods to GPUs that they were not given")
                .tag("finding", finding.toString())
                .tag("outcome", outcome.toString())
                .register(registry));
      }
      guardFindings.put(finding, counters);
    }
  }

  void guardFound(Found found) {
    var counters = Objects.requireNonNull(guardFindings.get(found.finding()));
    Objects.requireNonNull(counters.get(found.outcome())).increment();
  }

  void guardExempt() {
    guardExempt.increment();
  }

  void guardFailed(boolean denied) {
    (denied ? guardFailuresDenied : guardFailuresAdmitted).increment();
  }

  /** From any thread. */
  void guardEventDropped() {
    guardEventsDropped.increment();
  }

  /**
   * Watches the connections of a port.
   *
   * @param port admission or metrics
   */
  void connections(String port, ConnectionLimiter connections) {
    Gauge.builder("tranche_webhook_connections", connections, ConnectionLimiter::open)
        .description("Open connections of the port; bounded")
        .tag("port", port)
        .register(registry);
    FunctionCounter.builder(
            "tranche_webhook_connections_refused", connections, ConnectionLimiter::refused)
        .description("Connections closed for others, or because no first request came in time")
        .tag("port", port)
        .register(registry);
  }

  void admitted(Outcome outcome, int warningCount, long tookNanos) {
    count(outcome);
    if (warningCount > 0) {
      warnings.increment(warningCount);
    }
    duration.record(tookNanos, TimeUnit.NANOSECONDS);
  }

  void count(Outcome outcome) {
    Objects.requireNonNull(admissions.get(outcome)).increment();
  }

  public void tlsFailed() {
    tlsFailures.increment();
  }

  /** Watches whether reviews can be answered. */
  <T> void ready(T source, Predicate<T> ready) {
    Gauge.builder("tranche_webhook_ready", source, s -> ready.test(s) ? 1 : 0)
        .description("1 while /readyz says ready, else 0")
        .register(registry);
  }

  /** Watches how many labelled nodes are known. */
  <T> void nodes(T source, ToDoubleFunction<T> count) {
    Gauge.builder("tranche_webhook_nodes", source, count)
        .description("Nodes seen that are labelled with their replicas per GPU")
        .register(registry);
  }

  /** Watches the bytes of reviews that are being read. */
  <T> void inFlight(T source, ToDoubleFunction<T> bytes) {
    Gauge.builder("tranche_webhook_in_flight", source, bytes)
        .description("Bodies of reviews being read; bounded")
        .baseUnit("bytes")
        .register(registry);
  }

  /**
   * Watches a certificate; not a number before there is one.
   *
   * @param certificate ca, webhook or extender
   */
  void certificateExpiry(String certificate, Supplier<Optional<Instant>> expiry) {
    Gauge.builder(
            "tranche_webhook_certificate_expiry_timestamp",
            () -> expiry.get().map(t -> (double) t.getEpochSecond()).orElse(Double.NaN))
        .description("When the certificate in use ends, in Unix time")
        .tag("certificate", certificate)
        .baseUnit("seconds")
        .register(registry);
  }
}
