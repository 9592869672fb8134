package dev.tranche.e2e.bench;

import dev.tranche.e2e.bench.packing.RealReplay;
import dev.tranche.e2e.bench.packing.Replay;
import dev.tranche.e2e.bench.packing.Trace;
import dev.tranche.e2e.install.Artifacts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Measures how full the GPUs of a cluster get with policy {@code packed}, on traces of pods. The
 * protocol is that of "Beware of Fragmentation" (Weng et al., USENIX ATC 2023). The table shows the
 * paper's figures for its own policy, FGD, beside ours.
 */
final class PackingBench {
  /** The number of replicas per GPU that we recommend. */
  private static final int REPLICAS = 100;

  private static final int COARSE_REPLICAS = 10;
  private static final long[] SEEDS = {42, 43, 44, 45, 46};

  /** Published percentages of GPUs allocated, after requests for 100 % and for 130 % of them. */
  private record Published(double alloc100, double alloc130) {}

  private static final Map<String, Published> FGD =
      Map.of(
          "default", new Published(95.23, 95.39),
          "cpu100", new Published(95.21, 95.35),
          "gpushare40", new Published(93.96, 94.15),
          "multigpu20", new Published(95.53, 95.65),
          "gpuspec10", new Published(94.66, 94.95));

  private PackingBench() {}

  /**
   * @param folder with the traces
   */
  static List<Figure> run(Artifacts artifacts, boolean quick, @Nullable Path folder)
      throws IOException {
    if (folder == null || !Files.isDirectory(folder)) {
      throw new IllegalArgumentException(
          "--traces names no folder; the traces are those in data/csv of"
              + " https://github.com/hkust-adsl/kubernetes-scheduler-simulator");
    }
    var figures = new ArrayList<Figure>();
    for (String name : Trace.names(folder)) {
      Trace trace = Trace.read(folder, name);
      measure(artifacts, trace, REPLICAS, quick, "packing." + name, figures);
      published(name, figures);
      if (!quick) {
        measure(artifacts, trace, COARSE_REPLICAS, false, "packing." + name + ".r10", figures);
      }
    }
    return figures;
  }

  private static void measure(
      Artifacts artifacts,
      Trace trace,
      int replicas,
      boolean quick,
      String prefix,
      List<Figure> figures)
      throws IOException {
    var replays = new ArrayList<Replay>();
    for (long seed : LongStream.of(SEEDS).limit(quick ? 1 : SEEDS.length).toArray()) {
      System.err.printf("%s: %d replicas per GPU, seed %d%n", prefix, replicas, seed);
      replays.add(RealReplay.run(artifacts, trace, replicas, seed));
    }
    add(prefix + ".alloc100", mean(replays.stream().mapToDouble(Replay::alloc100)), figures);
    add(prefix + ".alloc130", mean(replays.stream().mapToDouble(Replay::alloc130)), figures);
    add(
        prefix + ".big_pods_placed",
        mean(replays.stream().mapToDouble(Replay::bigPodsPlaced)),
        figures);
  }

  private static void published(String name, List<Figure> figures) {
    Published fgd = FGD.get(name);
    if (fgd != null) {
      add("packing." + name + ".fgd_published.alloc100", fgd.alloc100(), figures);
      add("packing." + name + ".fgd_published.alloc130", fgd.alloc130(), figures);
    }
  }

  private static double mean(java.util.stream.DoubleStream values) {
    return values.average().orElse(0);
  }

  private static void add(String name, double percent, List<Figure> figures) {
    var figure = new Figure(name, percent, "%");
    System.err.print(Figure.table(List.of(figure)));
    figures.add(figure);
  }
}
