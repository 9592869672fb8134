package dev.tranche.extender.readapi;

import dev.tranche.process.meters.Meters;
import io.micrometer.core.instrument.Counter;

/** The counters of the read API. */
final class ReadApiMetrics {
  private final Meters metrics;
  final Counter shed;
  final Counter timedOut;

  ReadApiMetrics(Meters metrics) {
    this.metrics = metrics;
    this.shed =
        metrics.counter(
            "tranche.extender.read.api.shed",
            "Requests of the read API refused because others are being answered.");
    this.timedOut =
        metrics.counter(
            "tranche.extender.read.api.timeouts",
            "Answers of the read API that were not produced and read within 10 s.");
    answers(200);
  }

  private Counter answers(int status) {
    return metrics.counter(
        "tranche.extender.read.api.answers",
        "Answers of the read API, by HTTP status.",
        "code",
        Integer.toString(status));
  }

  /** Counts an answer. The API has few status codes, so that each may have a series. */
  void answered(int status) {
    answers(status).increment();
  }
}
