package dev.tranche.webhook;

import io.micrometer.core.instrument.Counter;
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
    /** A defect of ours. */
    FAILED
  }

  private final MeterRegistry registry;
  private final Map<Outcome, Counter> admissions = new EnumMap<>(Outcome.class);
  private final Timer duration;
  private final Counter tlsFailures;
  private final Counter warnings;

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
                Duration.ofSeconds(1))
            .register(registry);
    tlsFailures =
        Counter.builder("tranche_webhook_tls_failures")
            .description("Rounds of keeping certificates that failed and are tried again")
            .register(registry);
    warnings =
        Counter.builder("tranche_webhook_warnings")
            .description("Warnings given with an admission, such as a share rounded up")
            .register(registry);
  }

  void admitted(Outcome outcome, int warningCount, long tookNanos) {
    count(outcome);
    warnings.increment(warningCount);
    duration.record(Duration.ofNanos(tookNanos));
  }

  void count(Outcome outcome) {
    Objects.requireNonNull(admissions.get(outcome)).increment();
  }

  public void tlsFailed() {
    tlsFailures.increment();
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
        .description("Bodies of reviews being read, as announced; bounded")
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
