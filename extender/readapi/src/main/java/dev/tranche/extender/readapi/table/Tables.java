package dev.tranche.extender.readapi.table;

import static dev.tranche.extender.readapi.table.Cells.age;
import static dev.tranche.extender.readapi.table.Cells.gpus;
import static dev.tranche.extender.readapi.table.Cells.memory;
import static dev.tranche.extender.readapi.table.Cells.percent;
import static dev.tranche.extender.readapi.table.Cells.text;

import dev.tranche.extender.ledger.Limited;
import dev.tranche.extender.readapi.query.Metadata;
import dev.tranche.extender.readapi.row.Gpu;
import dev.tranche.extender.readapi.row.Gpu.Measured;
import dev.tranche.extender.readapi.row.GpuList;
import dev.tranche.extender.readapi.row.GpuShare;
import dev.tranche.extender.readapi.row.InvariantList;
import dev.tranche.extender.readapi.row.InvariantList.InvariantFinding;
import dev.tranche.extender.readapi.row.Pod;
import dev.tranche.extender.readapi.row.PodList;
import dev.tranche.extender.readapi.row.Requested;
import dev.tranche.extender.readapi.row.Summary;
import dev.tranche.extender.readapi.row.Summary.NodeSums;
import dev.tranche.extender.readapi.row.Waiting;
import dev.tranche.extender.readapi.row.WasteList;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Writes lists as tables. A column is a header and a function that returns a row's cell. */
final class Tables {
  /** Holders that are shown of one GPU; the others are only counted. */
  private static final int HOLDERS_MAX = 5;

  private static final String OTHERS = "OTHERS";

  private static final List<Column<NodeSums>> NODES =
      List.of(
          Column.of("NODE", NodeSums::node),
          Column.of("GPUS", node -> gpus(node.sums().total().gpus())),
          Column.wide("HEALTHY", node -> gpus(node.sums().healthy().gpus())),
          Column.of("GRANTED", node -> gpus(node.sums().granted().gpus())),
          Column.of("GRANTED%", Tables::grantedShare),
          Column.wide("MEASURED", node -> text(node.sums().used().measuredGpus())),
          Column.of("SM%", Tables::load),
          Column.wide("MEMORY-GRANTED", node -> memory(node.sums().granted().memory())),
          Column.of(
              "MEMORY-USED",
              node -> measured(node) ? memory(node.sums().used().memory()) : TextTable.UNKNOWN),
          Column.of("MEMORY", node -> memory(node.sums().total().memory())));

  private static final List<Column<Gpu>> GPUS =
      List.of(
          Column.of("NODE", Gpu::node),
          Column.of("GPU", gpu -> text(gpu.index())),
          Column.of("MODEL", Gpu::model),
          Column.of("GRANTED", gpu -> gpus(gpu.granted().gpus())),
          Column.of(OTHERS, gpu -> gpu.others() == null ? "" : gpus(gpu.others().gpus())),
          Column.of("FREE", gpu -> gpu.freeReplicas() + "/" + gpu.replicas()),
          Column.of("USABLE", gpu -> gpu.largestShareReplicas() + "/" + gpu.replicas()),
          Column.of("SM%", gpu -> percent(measured(gpu, Measured::smLast))),
          Column.of("SM%-10S-MEAN", gpu -> percent(measured(gpu, Measured::sm))),
          Column.wide("EFFECTIVE-SM%", gpu -> percent(gpu.effective().sm())),
          Column.wide("SM-ACTIVE%", gpu -> percent(measured(gpu, Measured::smActive))),
          Column.wide("SM-OCCUPANCY%", gpu -> percent(measured(gpu, Measured::smOccupancy))),
          Column.wide("TENSOR%", gpu -> percent(measured(gpu, Measured::tensorActive))),
          Column.wide("DRAM%", gpu -> percent(measured(gpu, Measured::dramActive))),
          Column.of("MEMORY-USED", gpu -> memory(measured(gpu, Measured::memory))),
          Column.wide("MEMORY-FREE", gpu -> memory(gpu.effective().memoryFree())),
          Column.of("MEMORY", gpu -> memory(gpu.memory())),
          Column.of("HEALTH", gpu -> gpu.health() + (gpu.overuse() == null ? "" : ",Overused")),
          Column.of("PODS", gpu -> text(gpu.holderCount())),
          new Column<>("READING", true, (gpu, time) -> age(measured(gpu, Measured::time), time)),
          Column.wide("OVERUSE", gpu -> text(gpu.overuse())),
          Column.wide("UUID", Gpu::uuid),
          Column.wide("RESOURCE", Gpu::resource),
          Column.wide("HOLDERS", Tables::holders));

  private static final Column<Pod> NAMESPACE = Column.of("NAMESPACE", Pod::namespace);
  private static final Column<Pod> NAME = Column.of("NAME", Pod::name);
  private static final Column<Pod> NODE = Column.of("NODE", pod -> text(pod.node()));
  private static final Column<Pod> INDICES = Column.of("GPU", Tables::indices);
  private static final Column<Pod> GRANTED =
      Column.of("GRANTED", pod -> known(pod, pod.granted(), granted -> gpus(granted.gpus())));
  private static final Column<Pod> MEMORY_USED =
      Column.of("MEMORY-USED", pod -> known(pod, pod.used(), used -> memory(used.memory())));

  private static final List<Column<Pod>> PODS =
      List.of(
          NAMESPACE,
          NAME,
          Column.of("STATE", pod -> text(pod.state())),
          NODE,
          INDICES,
          Column.of("REQUESTED", Tables::requested),
          GRANTED,
          Column.of("SM%", pod -> known(pod, pod.used(), used -> percent(used.gpus()))),
          Column.wide(
              "MEMORY-GRANTED",
              pod -> known(pod, pod.granted(), granted -> memory(granted.memory()))),
          MEMORY_USED,
          Column.wide("LIMITED", pod -> limited(pod.gpus())),
          Column.wide("RESOURCE", Pod::resource),
          Column.wide("STAGE", pod -> text(pod.stage())),
          Column.of("WAITING", pod -> waiting(pod, Waiting::reason)),
          new Column<>("AGE", false, (pod, time) -> age(pod.since(), time)),
          Column.wide("BECAUSE", pod -> waiting(pod, Waiting::message)));

  /** What a pod leaves unused, and since when it has been idle. */
  private static final List<Column<Pod>> WASTE =
      List.of(
          NAMESPACE,
          NAME,
          NODE,
          INDICES,
          GRANTED,
          Column.of("UNUSED", pod -> gpus(pod.unused())),
          Column.of(
              "MEMORY-GRANTED",
              pod -> known(pod, pod.granted(), granted -> memory(granted.memory()))),
          MEMORY_USED,
          new Column<>(
              "IDLE",
              false,
              (pod, time) -> pod.idleSince() == null ? "" : age(pod.idleSince(), time)));

  private static final List<Column<InvariantFinding>> INVARIANTS =
      List.of(
          Column.of("INVARIANT", InvariantFinding::invariant),
          Column.of("BROKEN", each -> each.broken() ? "yes" : "no"),
          Column.of("SECONDS", each -> text(each.seconds())),
          Column.wide("ALLOWED", each -> text(each.allowedSeconds())),
          Column.wide("SUBJECT", InvariantFinding::subject),
          Column.of("MESSAGE", InvariantFinding::message));

  private Tables() {}

  /**
   * @param wide whether the column is shown only with {@code -o wide}
   * @param cell returns a row's cell, given the time of the answer
   */
  record Column<R>(String name, boolean wide, BiFunction<R, Instant, String> cell) {
    static <R> Column<R> of(String name, Function<R, String> cell) {
      return new Column<>(name, false, (row, time) -> cell.apply(row));
    }

    static <R> Column<R> wide(String name, Function<R, String> cell) {
      return new Column<>(name, true, (row, time) -> cell.apply(row));
    }
  }

  static Grid of(Record answer) {
    return switch (answer) {
      case Summary list -> grid(NODES, list.nodes(), list.time(), more(list.metadata()));
      case GpuList list -> grid(columns(list), list.items(), list.time(), more(list.metadata()));
      case PodList list -> grid(PODS, list.items(), list.time(), more(list.metadata()));
      case InvariantList list -> grid(INVARIANTS, list.items(), list.time(), more(list));
      case WasteList list -> grid(WASTE, list.items(), list.time(), more(list));
      default -> throw new IllegalArgumentException("no table shows a " + answer.getClass());
    };
  }

  /** Only the view of one namespace has others. */
  private static List<Column<Gpu>> columns(GpuList list) {
    boolean others = list.items().stream().anyMatch(gpu -> gpu.others() != null);
    return GPUS.stream().filter(column -> others || !column.name().equals(OTHERS)).toList();
  }

  /**
   * All cells of a list, also those that are shown only with {@code -o wide}.
   *
   * @param more the line after the last row; empty if there is none
   */
  record Grid(List<? extends Column<?>> columns, List<List<String>> rows, String more) {
    String text(boolean wide) {
      List<Integer> shown =
          IntStream.range(0, columns.size())
              .filter(i -> wide || !columns.get(i).wide())
              .boxed()
              .toList();
      return TextTable.of(
              shown.stream().map(i -> columns.get(i).name()).toList(),
              rows.stream().map(row -> shown.stream().map(row::get).toList()).toList())
          + more;
    }
  }

  private static <R> Grid grid(List<Column<R>> columns, List<R> rows, Instant time, String more) {
    return new Grid(
        columns,
        rows.stream()
            .map(row -> columns.stream().map(column -> column.cell().apply(row, time)).toList())
            .toList(),
        more);
  }

  private static String more(InvariantList list) {
    return list.leftOut() == 0 ? "" : "# %d more\n".formatted(list.leftOut());
  }

  private static String more(WasteList list) {
    return "# %s of %s GPUs that pods hold are not used\n"
        .formatted(gpus(list.unused()), gpus(list.held()));
  }

  /**
   * Returns the line after the last row if there are more. No row begins with {@code #}, as the
   * first column is a Kubernetes name.
   */
  private static String more(Metadata metadata) {
    return metadata.position() == null
        ? ""
        : "# %d more: continue=%s\n".formatted(metadata.remainingItemCount(), metadata.position());
  }

  private static String grantedShare(NodeSums node) {
    double total = node.sums().total().gpus().gpus();
    return total == 0 ? TextTable.UNKNOWN : percent(node.sums().granted().gpus().gpus() / total);
  }

  private static boolean measured(NodeSums node) {
    return node.sums().used().measuredGpus() > 0;
  }

  private static <T> @Nullable T measured(Gpu gpu, Function<Measured, @Nullable T> field) {
    return gpu.measured() == null ? null : field.apply(gpu.measured());
  }

  /** Returns the mean SM load of the measured GPUs. */
  private static String load(NodeSums node) {
    return measured(node)
        ? percent(node.sums().used().gpus().gpus() / node.sums().used().measuredGpus())
        : TextTable.UNKNOWN;
  }

  private static String holders(Gpu gpu) {
    var names = new ArrayList<String>();
    gpu.holders().stream()
        .limit(HOLDERS_MAX)
        .forEach(holder -> names.add(holder.namespace() + "/" + holder.name()));
    int others = gpu.holderCount() - names.size();
    if (others > 0) {
      names.add("+" + others);
    }
    return String.join(",", names);
  }

  private static String indices(Pod pod) {
    List<GpuShare> gpus = pod.gpus();
    return gpus == null
        ? ""
        : gpus.stream().map(gpu -> text(gpu.index())).collect(Collectors.joining(","));
  }

  /** Returns a request as its author wrote it: {@code 0.3}, {@code 2×0.5}, {@code 4Gi}. */
  private static String requested(Pod pod) {
    Requested requested = pod.requested();
    if (requested.gpus() == null || requested.share() == null) {
      return requested.replicas() + " replicas";
    }
    String each = requested.memory() == null ? gpus(requested.share()) : requested.memory();
    return requested.gpus() == 1 ? each : requested.gpus() + "×" + each;
  }

  /** Returns the worst of a pod's GPUs. */
  static String limited(@Nullable List<GpuShare> gpus) {
    return gpus == null
        ? ""
        : gpus.stream()
            .flatMap(gpu -> Stream.ofNullable(gpu.limited()))
            .reduce(Limited::orWorse)
            .map(Limited::toString)
            .orElse("");
  }

  private static String waiting(Pod pod, Function<Waiting, String> field) {
    return pod.waiting() == null ? "" : field.apply(pod.waiting());
  }

  /** Returns no text, not {@code <unknown>}, for a waiting pod: it is known to hold nothing. */
  private static <T> String known(Pod pod, @Nullable T amount, Function<T, String> cell) {
    if (amount != null) {
      return cell.apply(amount);
    }
    return pod.stage() == null ? "" : TextTable.UNKNOWN;
  }
}
