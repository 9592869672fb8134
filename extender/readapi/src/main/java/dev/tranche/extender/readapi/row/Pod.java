package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Hold.Stage;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.Parameters.Field;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A pod as lists show it.
 *
 * @param granted null also while the pod's GPUs are unknown: so is the size of its grant
 */
public record Pod(
    String namespace,
    String name,
    String uid,
    String resource,
    Requested requested,
    PodState state,
    @Nullable Instant since,
    @Nullable String node,
    @Nullable Stage stage,
    @Nullable List<GpuShare> gpus,
    @Nullable Amount granted,
    @Nullable Waiting waiting,
    @Nullable Used used,
    @Nullable Instant idleSince) {
  public static final List<Field> FIELDS =
      List.of(
          Field.text("namespace"),
          Field.text("node"),
          Field.text("gpu"),
          new Field("state", PodState.NAMES, false));

  /** The measured use of one pod. */
  public record Used(@Nullable GpuQuantity gpus, @Nullable MemoryQuantity memory) {
    /** Returns what a pod uses of one GPU. An old reading tells the memory alone. */
    public static Used of(Inspection.Gpu gpu, Hold hold) {
      Double sm = gpu.view().measured() ? gpu.reading().smOf(hold.key()) : null;
      Long bytes = gpu.reading().memoryBytesOf(hold.key());
      return new Used(
          sm == null ? null : GpuQuantity.of(sm), bytes == null ? null : new MemoryQuantity(bytes));
    }

    /** Adds up what is known; null if nothing is. */
    static @Nullable Used sum(Stream<Used> parts) {
      GpuQuantity gpus = null;
      MemoryQuantity memory = null;
      for (Used part : parts.toList()) {
        if (part.gpus != null) {
          gpus = new GpuQuantity(part.gpus.milli() + (gpus == null ? 0 : gpus.milli()));
        }
        if (part.memory != null) {
          memory = new MemoryQuantity(part.memory.bytes() + (memory == null ? 0 : memory.bytes()));
        }
      }
      return gpus == null && memory == null ? null : new Used(gpus, memory);
    }
  }

  public static boolean admitted(PodRow row, ListQuery query) {
    return query.admits("namespace", row.pod().namespace())
        && query.admits("node", node(row))
        && query.admits("state", row.state().toString())
        && (!query.filters().containsKey("gpu")
            || row.gpus().stream()
                .anyMatch(on -> query.admits("gpu", "" + on.gpu().view().index())));
  }

  /** Returns what the pod holds and does not use; null where that is not known. */
  public @Nullable GpuQuantity unused() {
    return granted == null || used == null || used.gpus() == null
        ? null
        : new GpuQuantity(Math.max(0, granted.gpus().milli() - used.gpus().milli()));
  }

  private static @Nullable String node(PodRow row) {
    PodFacts pod = row.pod();
    return pod.node() != null ? pod.node() : row.hold().map(Hold::node).orElse(null);
  }

  /**
   * @param waiting why it waits; null where it does not
   */
  public static Pod of(PodRow row, @Nullable Waiting waiting) {
    PodFacts pod = row.pod();
    Hold hold = row.hold().orElse(null);
    return new Pod(
        pod.namespace(),
        pod.name(),
        pod.uid(),
        pod.resource(),
        Requested.of(pod),
        row.state(),
        startedAt(pod),
        node(row),
        hold == null ? null : hold.stage(),
        hold == null ? null : row.gpus().stream().map(gpu -> share(gpu, hold)).toList(),
        hold == null || row.gpus().isEmpty() ? null : granted(row.gpus(), hold),
        waiting,
        row.used(),
        idleSince(row));
  }

  private static @Nullable Instant startedAt(PodFacts pod) {
    long startedAtMs = pod.preemption().startedAtMs();
    return startedAtMs == 0 ? null : Instant.ofEpochMilli(startedAtMs);
  }

  /** Returns the latest of its GPUs' times; null if it is not idle on all of them. */
  private static @Nullable Instant idleSince(PodRow row) {
    Instant latest = null;
    for (GpuRow gpu : row.gpus()) {
      Instant here = gpu.gpu().idleSince().get(row.pod().uid());
      if (here == null) {
        return null;
      }
      latest = latest == null || here.isAfter(latest) ? here : latest;
    }
    return latest;
  }

  private static GpuShare share(GpuRow row, Hold hold) {
    return new GpuShare(
        row.gpu().view().uuid(),
        row.gpu().view().index(),
        Holder.replicas(row.gpu(), hold),
        Holder.replicasPerGpu(row.gpu(), hold),
        row.gpu().limited().get(hold.key()));
  }

  private static Amount granted(List<GpuRow> gpus, Hold hold) {
    var granted = new AmountSum();
    gpus.forEach(row -> granted.add(row, hold));
    return granted.amount();
  }
}
