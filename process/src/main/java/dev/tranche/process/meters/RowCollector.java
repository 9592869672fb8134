package dev.tranche.process.meters;

import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/**
 * Gauges of rows that come and go, such as GPUs or containers. Each scrape writes them anew, since
 * meters of rows that are gone would never be freed.
 */
public final class RowCollector<R> implements MultiCollector {
  private final Supplier<? extends Collection<? extends R>> rows;
  private final Function<R, Labels> labels;
  private final List<Column<R>> columns = new ArrayList<>();

  private record Column<R>(String name, String help, ToDoubleFunction<R> value) {}

  public RowCollector(
      Supplier<? extends Collection<? extends R>> rows, Function<R, Labels> labels) {
    this.rows = rows;
    this.labels = labels;
  }

  /** Adds a gauge. While its value is not a number, a row does not have it. */
  public RowCollector<R> gauge(String name, String help, ToDoubleFunction<R> value) {
    columns.add(new Column<>(name, help, value));
    return this;
  }

  @Override
  public MetricSnapshots collect() {
    // All gauges share the labels, since these take most of the memory.
    List<Labelled<R>> now =
        rows.get().stream().map(row -> new Labelled<R>(row, labels.apply(row))).toList();
    var snapshots = MetricSnapshots.builder();
    columns.forEach(column -> snapshots.metricSnapshot(snapshot(column, now)));
    return snapshots.build();
  }

  private record Labelled<R>(R row, Labels labels) {}

  private static <R> GaugeSnapshot snapshot(Column<R> column, List<Labelled<R>> now) {
    var snapshot = GaugeSnapshot.builder().name(column.name()).help(column.help());
    for (Labelled<R> each : now) {
      double value = column.value().applyAsDouble(each.row());
      if (!Double.isNaN(value)) {
        snapshot.dataPoint(
            GaugeDataPointSnapshot.builder().labels(each.labels()).value(value).build());
      }
    }
    return snapshot.build();
  }
}
