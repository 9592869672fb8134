package dev.tranche.extender.readapi.row;

import dev.tranche.api.Printable;
import dev.tranche.extender.explain.FitErrorText;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.load.GpuActivity;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.Parameters.Field;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A GPU as the API shows it.
 *
 * @param largestShareReplicas what a pod could get, by granted replicas and by measured memory
 * @param overuse what is used beyond the grants; null if it is not much
 * @param granted what is not free: held by pods, or possibly held by pods whose GPU is unknown
 */
public record Gpu(
    String node,
    int index,
    String uuid,
    String model,
    String resource,
    int replicas,
    int freeReplicas,
    int largestShareReplicas,
    MemoryQuantity memory,
    Amount granted,
    @Nullable Amount others,
    Health health,
    @Nullable String healthReason,
    @Nullable String overuse,
    @Nullable MemoryQuantity memoryOfNoPod,
    @Nullable Measured measured,
    Effective effective,
    List<Holder> holders,
    int holderCount) {
  public static final List<Field> FIELDS =
      List.of(
          Field.text("node"),
          Field.text("model"),
          Field.text("uuid"),
          new Field("health", Health.NAMES, false),
          Field.text("namespace"));

  /** Holders that are shown of one GPU; the others are only counted. */
  static final int HOLDERS_MAX = 100;

  /** The last reading. If it is too old, its memory is shown but not its SM load. */
  public record Measured(
      Instant time,
      boolean fresh,
      @Nullable MemoryQuantity memory,
      @Nullable GpuQuantity sm,
      @Nullable GpuQuantity smLast,
      @Nullable GpuQuantity smActive,
      @Nullable GpuQuantity smOccupancy,
      @Nullable GpuQuantity tensorActive,
      @Nullable GpuQuantity dramActive) {
    /** Returns null without a reading. */
    static @Nullable Measured of(GpuRow row) {
      Inspection.Gpu gpu = row.gpu();
      if (gpu.ageMs() < 0) {
        return null;
      }
      boolean fresh = gpu.view().measured();
      LoadReading reading = gpu.reading();
      GpuActivity activity = fresh ? reading.activity() : null;
      return new Measured(
          row.node().at().minusMillis(gpu.ageMs()),
          fresh,
          reading.memoryKnown() ? new MemoryQuantity(reading.memoryUsedBytes()) : null,
          fresh ? GpuQuantity.of(reading.smMean()) : null,
          fresh ? GpuQuantity.of(reading.sm()) : null,
          activity == null ? null : known(activity.sm()),
          activity == null ? null : known(activity.smOccupancy()),
          activity == null ? null : known(activity.tensor()),
          activity == null ? null : known(activity.dram()));
    }

    /** Returns null where it is not known, which does not mean 0. */
    private static @Nullable GpuQuantity known(double part) {
      return Double.isNaN(part) ? null : GpuQuantity.of(part);
    }
  }

  public static boolean admitted(GpuRow row, ListQuery query) {
    GpuView view = row.gpu().view();
    return query.admits("node", row.node().name())
        && query.admits("model", view.model())
        && query.admits("uuid", view.uuid())
        && query.admits("health", Health.of(row.node(), row.gpu()).toString())
        && (!query.filters().containsKey("namespace")
            || row.gpu().holds().stream()
                .anyMatch(hold -> query.admits("namespace", hold.namespace())));
  }

  /** The view of one namespace has only the GPUs that its pods hold. */
  static boolean shown(GpuRow row, View view) {
    return view.namespace().isEmpty() || row.gpu().holds().stream().anyMatch(view::shows);
  }

  public static Gpu of(GpuRow row, View shown) {
    Inspection.Gpu gpu = row.gpu();
    GpuView view = gpu.view();
    List<Hold> holds = gpu.holds().stream().filter(shown::shows).toList();
    Health health = Health.of(row.node(), gpu);
    var granted = new AmountSum();
    granted.addWhole(row);
    return new Gpu(
        row.node().name(),
        view.index(),
        view.uuid(),
        Printable.name(view.model()),
        view.resource(),
        view.replicas(),
        view.freeReplicas(),
        health == Health.HEALTHY ? view.freeShare() : 0,
        new MemoryQuantity(view.memoryUsableBytes()),
        granted.amount(),
        shown.namespace().isEmpty() ? null : others(row, granted, holds),
        health,
        healthReason(view, shown),
        Overuse.of(row, shown),
        Overuse.ofNoPod(gpu),
        Measured.of(row),
        Effective.of(view),
        holds.stream().limit(HOLDERS_MAX).map(hold -> Holder.of(gpu, hold)).toList(),
        holds.size());
  }

  private static Amount others(GpuRow row, AmountSum all, List<Hold> own) {
    var granted = new AmountSum();
    own.forEach(hold -> granted.add(row, hold));
    return all.without(granted);
  }

  /** The reason of a cordon names the pods that use more than they were granted. */
  private static @Nullable String healthReason(GpuView view, View shown) {
    String reason = shown.namespace().isEmpty() ? view.unfitBecause() : FitErrorText.unfit(view);
    return view.unfitBecause().isEmpty() ? null : Printable.message(reason);
  }
}
