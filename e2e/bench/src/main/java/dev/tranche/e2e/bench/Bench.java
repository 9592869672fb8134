package dev.tranche.e2e.bench;

import dev.tranche.e2e.bench.soak.SoakBench;
import dev.tranche.e2e.install.Artifacts;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Runs a benchmark, {@code ./bench NAME}, or rewrites the tables of recorded results, {@code
 * ./bench report}. The script's help lists the valid arguments; this class rejects all others.
 */
@Command(name = "./bench", description = "Measures and prints a table.")
public final class Bench implements Callable<Integer> {
  /** A benchmark that measures the built artifacts, quickly or thoroughly. */
  private interface Measurement {
    List<Figure> run(Artifacts artifacts, boolean quick) throws Exception;
  }

  private final Map<String, Measurement> all = new TreeMap<>();

  @Parameters(index = "0", hidden = true)
  private Path root = Path.of(".");

  @Parameters(index = "1", arity = "0..1", description = "Which one.")
  private @Nullable String name;

  @Option(names = "--quick", description = "Fewer repetitions: for a look, not for the record.")
  private boolean quick;

  @Option(names = "--traces", description = "Of packing: the folder with the traces.")
  private @Nullable Path traces;

  @Option(names = "--nodes", split = ",", description = "Of scale: how many.")
  private List<Integer> nodes = List.of();

  @Option(names = "--pods", description = "Of scale: how many.")
  private int pods;

  @Option(names = "--only", split = ",", description = "Of scale: none, noop, ours, all.")
  private List<ScaleBench.Part> only = List.of(ScaleBench.Part.values());

  @Option(names = "--gpus", split = ",", description = "Of ui: how many.")
  private List<Integer> gpus = List.of();

  @Option(names = "--minutes", description = "Of ui and soak: how long.")
  private int minutes;

  @Option(names = "--seed", description = "Of soak: the order of an earlier run.")
  private @Nullable Long seed;

  @Option(names = "--out", description = "Write [{name, value, unit}, …] here.")
  private @Nullable Path out;

  @Option(names = "--measured", description = "Of simulate: the figures of a run that has ended.")
  private @Nullable Path measured;

  @Option(names = "--runs", description = "So many runs, one after the other.")
  private int runs = 1;

  @Option(names = "--record", description = "Add each run to docs/benchmarks/NAME.json.")
  private boolean record;

  private Bench() {
    all.put("plugin", PluginBench::run);
    all.put("latency", LatencyBench::run);
    all.put("load", LoadBench::run);
    all.put("scale", (artifacts, hurried) -> ScaleBench.run(artifacts, scale()));
    all.put("webhook", WebhookBench::run);
    all.put("ui", (artifacts, hurried) -> UiBench.run(artifacts, ui()));
    all.put("soak", (artifacts, hurried) -> soak(artifacts));
    all.put("packing", (artifacts, hurried) -> PackingBench.run(artifacts, hurried, traces));
  }

  @Override
  public Integer call() throws Exception {
    if ("report".equals(name)) {
      List<Path> changed = Report.write(root);
      changed.forEach(file -> System.out.println("rewrote " + file));
      System.out.print(changed.isEmpty() ? "nothing has changed\n" : "");
      return 0;
    }
    if (measured != null) {
      record("simulate", Figure.read(measured));
      return 0;
    }
    if (name == null || !all.containsKey(name) || runs < 1) {
      System.err.println(refusal());
      return 2;
    }
    Measurement measurement = Objects.requireNonNull(all.get(name));
    for (int i = 0; i < runs; i++) {
      List<Figure> figures = measurement.run(Artifacts.of(root), quick);
      System.out.print(Figure.table(figures));
      if (out != null) {
        Figure.write(figures, out);
      }
      if (record) {
        record(name, figures);
      }
      if (figures.stream().anyMatch(f -> f.name().equals("soak.violations") && f.value() > 0)) {
        return 1;
      }
    }
    return 0;
  }

  private int minutes(int thorough, int hurried) {
    return minutes > 0 ? minutes : quick ? hurried : thorough;
  }

  private String refusal() {
    if (name == null) {
      return "no benchmark is named; ./bench --help lists them";
    }
    return runs < 1
        ? "--runs is " + runs + "; allowed are 1 and more"
        : "no benchmark \"%s\"; there are %s, and report"
            .formatted(name, String.join(", ", all.keySet()));
  }

  private void record(String benchmark, List<Figure> figures) throws Exception {
    Path file = Results.file(root, benchmark);
    Results.read(file).with(Provenance.of(root, figures)).write(file);
    System.err.println("added a run to " + file + "; ./bench report rewrites the tables");
  }

  private List<Figure> soak(Artifacts artifacts) throws Exception {
    long order = seed == null ? new Random().nextInt(1_000_000) : seed;
    SoakBench.Outcome outcome = SoakBench.run(artifacts, minutes(30, 3), order);
    var figures = new ArrayList<Figure>();
    figures.add(new Figure("soak.faults", outcome.faults(), "faults"));
    figures.add(new Figure("soak.pods", outcome.pods(), "pods"));
    figures.add(new Figure("soak.revisions", outcome.revisions(), "revisions"));
    figures.add(new Figure("soak.violations", outcome.violations(), "violations"));
    return figures;
  }

  private ScaleBench.Size scale() {
    List<Integer> counts = quick ? List.of(1_000) : List.of(1_000, 5_000);
    int count = quick ? 500 : 2_000;
    return new ScaleBench.Size(nodes.isEmpty() ? counts : nodes, pods == 0 ? count : pods, only);
  }

  private UiBench.Size ui() {
    return new UiBench.Size(
        gpus.isEmpty() ? List.of(1_000, 8_000) : gpus,
        Duration.ofMinutes(minutes(10, 1)),
        Duration.ofSeconds(quick ? 10 : 30),
        quick ? 2 : 5,
        quick ? 3 : 10);
  }

  public static void main(String[] args) {
    System.exit(
        new CommandLine(new Bench()).setCaseInsensitiveEnumValuesAllowed(true).execute(args));
  }
}
