package dev.tranche.extender.readapi;

import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.Counter;

/** What of the read API is counted. */
final class ReadApiMetrics {
  private final ExtenderMetrics metrics;
  private final Counter shed;
  private final Counter cut;

  ReadApiMetrics(ExtenderMetrics metrics) {
    this.metrics = metrics;
    this.shed =
        metrics.counter(
            "tranche.extender.read.api.shed",
            "Requests of the read API refused because others are being answered.");
    this.cut =
        metrics.counter(
            "tranche.extender.read.api.cut",
            "Answers of the read API that were not made and read within 10 s.");
    answers(200);
  }

  private Counter answers(int status) {
    return metrics.counter(
        "tranche.extender.read.api.answers",
        "Answers of the read API, by HTTP status.",
        "code",
        Integer.toString(status));
  }

  /** The API has few of them. */
  void answered(int status) {
    answers(status).increment();
  }

  void shed() {
    shed.increment();
  }

  void cut() {
    cut.increment();
  }
}
