package dev.tranche.e2e.bench;

import dev.tranche.e2e.bench.webhook.WebhookBench;
import dev.tranche.e2e.install.Artifacts;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The third command of the repository. */
@Command(name = "./bench", description = "Measures, prints a table, and writes it as JSON.")
public final class Bench implements Callable<Integer> {
  /** A benchmark: quick or thorough, from what has been built. */
  private interface Measurement {
    List<Figure> run(Artifacts artifacts, boolean quick) throws Exception;
  }

  private final Map<String, Measurement> all =
      new TreeMap<>(
          Map.of(
              "plugin",
              PluginBench::run,
              "latency",
              LatencyBench::run,
              "load",
              LoadBench::run,
              "scale",
              (artifacts, hurried) -> ScaleBench.run(artifacts, this.scale()),
              "webhook",
              WebhookBench::run,
              "packing",
              (artifacts, hurried) -> PackingBench.run(artifacts, hurried, this.traces)));

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

  @Option(names = "--out", description = "Write [{name, value, unit}, …] here.")
  private @Nullable Path out;

  @Override
  public Integer call() throws Exception {
    Measurement measurement = name == null ? null : all.get(name);
    if (measurement == null) {
      System.err.printf(
          Locale.ROOT,
          "%susage: ./bench NAME [--quick] [--traces FOLDER] [--nodes N,…] [--pods N] [--only PART,…] [--out FILE.json]; names are %s%n",
          name == null ? "" : "no benchmark \"" + name + "\"; ",
          String.join(", ", all.keySet()));
      return 2;
    }
    List<Figure> figures = measurement.run(Artifacts.of(root), quick);
    System.out.print(Figure.table(figures));
    if (out != null) {
      Figure.write(figures, out);
    }
    return 0;
  }

  private ScaleBench.Size scale() {
    List<Integer> counts = quick ? List.of(1_000) : List.of(1_000, 5_000);
    int count = quick ? 500 : 2_000;
    return new ScaleBench.Size(nodes.isEmpty() ? counts : nodes, pods == 0 ? count : pods, only);
  }

  public static void main(String[] args) {
    System.exit(
        new CommandLine(new Bench()).setCaseInsensitiveEnumValuesAllowed(true).execute(args));
  }
}
