package dev.tranche.e2e.bench.packing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;

/**
 * Nodes and pods of a cluster, as the CSV files of Alibaba's cluster-trace-gpu-v2023 list them.
 *
 * @param pods sorted by name
 */
public record Trace(String name, List<Node> nodes, List<Pod> pods) {
  private static final String PREFIX = "openb_pod_list_";
  private static final String SUFFIX = ".csv";
  private static final String NODES = "openb_node_list_gpu_node.csv";

  /** The pods request this many times the cluster's GPUs in the end. */
  private static final double ARRIVE_IN_ALL = 1.3;

  public record Node(String name, long cpuMilli, long memoryMib, int gpus, String model) {}

  /**
   * @param gpus how many; {@code gpuMilli} of each
   * @param models that it may run on, separated by commas; empty: any
   */
  public record Pod(
      String name, long cpuMilli, long memoryMib, int gpus, int gpuMilli, String models) {
    public long totalMilli() {
      return (long) gpus * gpuMilli;
    }
  }

  /** The names of all traces in a folder. */
  public static List<String> names(Path folder) throws IOException {
    var names = new TreeSet<String>();
    try (var files = Files.list(folder)) {
      files
          .map(file -> file.getFileName().toString())
          .filter(file -> file.startsWith(PREFIX) && file.endsWith(SUFFIX))
          .forEach(f -> names.add(f.substring(PREFIX.length(), f.length() - SUFFIX.length())));
    }
    return List.copyOf(names);
  }

  public static Trace read(Path folder, String name) throws IOException {
    var nodes = new ArrayList<Node>();
    for (String[] row : rows(folder.resolve(NODES), 5)) {
      nodes.add(new Node(row[0], number(row[1]), number(row[2]), (int) number(row[3]), row[4]));
    }
    var pods = new ArrayList<Pod>();
    for (String[] row : rows(folder.resolve(PREFIX + name + SUFFIX), 5)) {
      String models = row.length > 5 ? row[5].replace('|', ',') : "";
      int gpus = (int) number(row[3]);
      int milli = (int) number(row[4]);
      pods.add(new Pod(row[0], number(row[1]), number(row[2]), gpus, milli, models));
    }
    pods.sort(Comparator.comparing(Pod::name));
    return new Trace(name, List.copyOf(nodes), List.copyOf(pods));
  }

  private static List<String[]> rows(Path file, int columns) throws IOException {
    List<String[]> rows =
        Files.readAllLines(file).stream()
            .skip(1)
            .filter(line -> !line.isBlank())
            .map(line -> line.split(",", -1))
            .toList();
    if (rows.isEmpty() || rows.stream().anyMatch(row -> row.length < columns)) {
      throw new IOException(
          "%s is no trace: after the first line, each needs %d values or more, separated by commas"
              .formatted(file, columns));
    }
    return rows;
  }

  private static long number(String text) {
    return Long.parseLong(text.strip());
  }

  public long totalMilli() {
    return nodes.stream().mapToLong(node -> node.gpus() * 1_000L).sum();
  }

  /**
   * Returns the pods in a random order of this seed, and then some of them again, until the next
   * would exceed 1.3 times the cluster's GPUs.
   */
  public List<Pod> arrivals(long seed) {
    var random = new Random(seed);
    var arrivals = new ArrayList<>(pods);
    Collections.shuffle(arrivals, random);
    double limit = ARRIVE_IN_ALL * totalMilli();
    long asked = arrivals.stream().mapToLong(Pod::totalMilli).sum();
    while (true) {
      Pod next = pods.get(random.nextInt(pods.size()));
      asked += next.totalMilli();
      if (asked > limit) {
        return arrivals;
      }
      arrivals.add(next);
    }
  }
}
