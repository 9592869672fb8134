package dev.tranche.extender.metrics;

import dev.tranche.extender.placement.Reason;
import dev.tranche.process.meters.Failures;
import dev.tranche.process.meters.Meters;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/** The extender's counters, timers and gauges, by name. */
public final class ExtenderMetrics extends Meters {
  /** Buckets in ms; the last is kube-scheduler's timeout in the chart's configuration. */
  private static final Duration[] LATENCIES =
      bucketsMs(0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000);

  /** Unexpected errors on one node, or in one task. */
  public final Failures failures;

  public final Counter bindsWithoutRoom;
  public final Counter ackTimeouts;
  public final Counter drifts;
  public final Counter wakeUps;
  public final Counter waitingEvicted;

  /** Pairs of a GPU and a pod that the search for victims has looked at. */
  public final Counter preemptWork;

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
    super(registry, "tranche.extender");
    failures =
        new Failures(
            this,
            "Unexpected errors that ended the work on one node, or one task; the rest went on.",
            Failures.NODE,
            Failures.TASK);
    // All series at the start, so that the first event of a kind shows as an increase.
    for (Verb verb : Verb.values()) {
      timer(verb, false);
      timer(verb, true);
      shed(verb);
    }
    Stream.of(Reason.values()).forEach(this::denied);
    preempted(0, 0);
    bindsWithoutRoom =
        counter(
            "tranche.extender.bind.replicas.taken",
            "Binds refused because the replicas were no longer free since filter.");
    ackTimeouts =
        counter(
            "tranche.extender.bind.ack.timeouts",
            "Binds that failed because the node did not acknowledge the assignment.");
    drifts =
        counter(
            "tranche.extender.drift",
            "Pods to which the kubelet allocated other GPUs than assigned.");
    wakeUps =
        counter(
            "tranche.extender.wake.ups",
            "Node patches that make kube-scheduler retry rejected pods.");
    preemptWork =
        counter(
            "tranche.extender.preempt.work",
            "Comparisons of the search for victims: of a pod with a GPU, or with a value of a"
                + " PodDisruptionBudget.");
    waitingEvicted =
        counter(
            "tranche.extender.waiting.evicted",
            "Rejected pods dropped from memory because too many wait; only other events requeue"
                + " them.");
  }

  private Timer timer(Verb verb, boolean error) {
    return timer(
        "tranche.extender.verb.duration",
        "Time from a verb's request to its answer.",
        LATENCIES,
        "verb",
        verb.toString(),
        "outcome",
        error ? "error" : "decided");
  }

  public Counter shed(Verb verb) {
    return counter(
        "tranche.extender.verbs.shed",
        "Requests refused unread because too many are queued or they are too large, or aborted"
            + " because their body was too slow.",
        "verb",
        verb.toString());
  }

  public Counter denied(Reason reason) {
    return counter(
        "tranche.extender.denied.nodes",
        "Nodes that filter refused, by reason.",
        "reason",
        reason.name().toLowerCase(Locale.ROOT));
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
          clientStartS::get,
          "certificate",
          "kube-scheduler");
      gauge(
          "tranche.extender.client.certificate.expiry.timestamp.seconds",
          "When the certificate that kube-scheduler last presented expires, in Unix time.",
          clientEndS::get,
          "certificate",
          "kube-scheduler");
    }
  }

  public void answered(Verb verb, boolean error, long durationNs) {
    timer(verb, error).record(Duration.ofNanos(durationNs));
  }

  private Counter preemptNodes(String outcome) {
    String help =
        "Nodes that preemption was offered: kept with victims that free a GPU, or dropped.";
    return counter("tranche.extender.preempt.nodes", help, "outcome", outcome);
  }

  public void preempted(int kept, int dropped) {
    preemptNodes("kept").increment(kept);
    preemptNodes("dropped").increment(dropped);
  }
}
