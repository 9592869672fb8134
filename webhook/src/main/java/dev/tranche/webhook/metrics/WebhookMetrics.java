package dev.tranche.webhook.metrics;

import dev.tranche.process.meters.Meters;
import dev.tranche.webhook.guard.FindingOutcome;
import dev.tranche.webhook.guard.GuardFinding;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Mutation;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** The metrics of the webhook. */
public final class WebhookMetrics extends Meters {
  /** What became of a review. */
  public enum Outcome {
    UNCHANGED,
    PATCHED,
    DENIED,
    /** Not an AdmissionReview that we can read, or too large. */
    MALFORMED,
    /** Rejected unread, since too much was in flight. */
    SHED,
    /** Its body did not end in time. */
    TIMED_OUT,
    /** A defect of ours. */
    FAILED
  }

  /** The reason of a denial if what the API server sent cannot be read to its end. */
  public static final String UNREADABLE = "unreadable";

  private static final String NO_REASON = "none";

  private final Timer duration;
  public final Counter tlsFailures;
  private final Counter warnings;
  public final Counter eventsDropped;

  public WebhookMetrics(MeterRegistry registry) {
    super(registry, "tranche.webhook");
    registerAll();
    duration =
        timer(
            "tranche_webhook_admission_duration",
            "Time from reading a review's body to writing its answer",
            bucketsMs(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 50, 250, 1_000, 10_000));
    tlsFailures =
        counter(
            "tranche_webhook_tls_failures",
            "Failed attempts to maintain the certificates; they are retried");
    warnings =
        counter(
            "tranche_webhook_warnings",
            "Warnings returned with an admission, for example that a share was rounded up");
    eventsDropped =
        counter(
            "tranche_webhook_events_dropped",
            "Events about pods or their controllers that were not written: too many, or refused");
  }

  /** Registers all series at the start, so that the first event of a kind shows as an increase. */
  private void registerAll() {
    for (ReviewKind review : ReviewKind.values()) {
      Stream.of(Outcome.values())
          .filter(outcome -> outcome != Outcome.DENIED)
          .forEach(outcome -> admissions(review, outcome, NO_REASON));
      reasons(review).forEach(reason -> admissions(review, Outcome.DENIED, reason));
    }
    for (GuardFinding finding : GuardFinding.values()) {
      for (FindingOutcome.Outcome outcome : FindingOutcome.Outcome.values()) {
        guardFindings(finding, outcome);
      }
    }
  }

  /**
   * Returns the reasons of denials: a few dozen at most, since Prometheus keeps a series for each.
   */
  private static Stream<String> reasons(ReviewKind review) {
    return switch (review) {
      case FRACTION ->
          Stream.concat(
              Stream.of(Denial.values()).filter(d -> d != Denial.MORE).map(Denial::toString),
              Stream.of(UNREADABLE));
      case GUARD -> Stream.of(Denial.TOO_LARGE.toString(), UNREADABLE);
      case UPDATE, NONE -> Stream.of();
    };
  }

  private Counter admissions(ReviewKind review, Outcome outcome, String reason) {
    return counter(
        "tranche_webhook_admissions",
        "Answered reviews, by outcome for the pod",
        "review",
        review.toString(),
        "outcome",
        outcome.name().toLowerCase(Locale.ROOT),
        "reason",
        reason);
  }

  private Counter guardFindings(GuardFinding finding, FindingOutcome.Outcome outcome) {
    return counter(
        "tranche_webhook_guard_findings",
        "Findings in pods: ways to access GPUs that they were not granted",
        "finding",
        finding.toString(),
        "outcome",
        outcome.toString());
  }

  public void guardFound(FindingOutcome found) {
    guardFindings(found.finding(), found.outcome()).increment();
  }

  public void answered(ReviewKind review, Mutation mutation, long tookNanos) {
    switch (mutation) {
      case Mutation.Admitted admitted ->
          count(review, admitted.patch().isEmpty() ? Outcome.UNCHANGED : Outcome.PATCHED);
      case Mutation.Denied denied ->
          admissions(review, Outcome.DENIED, denied.reason()).increment();
    }
    warnings.increment(mutation.warnings().size());
    duration.record(tookNanos, TimeUnit.NANOSECONDS);
  }

  /**
   * @param outcome any but a denial, which has a reason
   */
  public void count(ReviewKind review, Outcome outcome) {
    admissions(review, outcome, NO_REASON).increment();
  }

  /** Watches whether reviews can be answered. */
  public void ready(BooleanSupplier ready) {
    gauge(
        "tranche_webhook_ready",
        "1 while /readyz says ready, else 0",
        () -> ready.getAsBoolean() ? 1 : 0);
  }

  /** Watches how many labelled nodes are known. */
  public void nodes(Supplier<Number> count) {
    gauge("tranche_webhook_nodes", "Nodes that have a label with their replicas per GPU", count);
  }

  /** Watches the bytes of reviews that are being read. */
  public void inFlight(Supplier<Number> bytes) {
    gauge(
        "tranche_webhook_in_flight_bytes",
        "Memory used by review bodies that are being read; bounded",
        bytes);
  }

  /**
   * Watches a certificate; not a number before there is one.
   *
   * @param name ca, webhook or extender
   */
  public void certificate(String name, Supplier<Optional<X509Certificate>> certificate) {
    certificate(
        "tranche_webhook_certificate_expiry_timestamp_seconds",
        "When the current certificate expires, in Unix time",
        name,
        () -> certificate.get().map(c -> c.getNotAfter().toInstant()));
    certificate(
        "tranche_webhook_certificate_start_timestamp_seconds",
        "Start of the current certificate's validity, in Unix time",
        name,
        () -> certificate.get().map(c -> c.getNotBefore().toInstant()));
  }

  private void certificate(
      String metric, String help, String name, Supplier<Optional<Instant>> time) {
    gauge(
        metric,
        help,
        () -> time.get().map(t -> (double) t.getEpochSecond()).orElse(Double.NaN),
        "certificate",
        name);
  }
}
