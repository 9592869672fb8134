package dev.tranche.simulate;

import com.sun.management.OperatingSystemMXBean;
import dev.tranche.extender.invariant.Finding;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Runs simulated clusters, one seed after the other, until one breaks an invariant. */
@Command(name = "./bench simulate", description = "Runs simulated clusters.")
public final class Simulate implements Callable<Integer> {
  private static final int SHRINK_RUNS_MAX = 400;

  /** A rare branch must be met so often in so many seeds. */
  private static final long MET_MIN = 100;

  private static final int LONG_RUN = 1_000;

  /** Of the pods, so many must have waited at some time. */
  private static final double WAITED_MIN = 0.2;

  /** A run of fewer pods is too small to mean something. */
  private static final int PODS_MIN = 300;

  private static final int MUTANT_SEEDS = 200;

  @Option(names = "--seed", description = "The first seed.")
  private long seed = 1;

  @Option(names = "--runs", description = "How many seeds.")
  private int runs = Integer.MAX_VALUE;

  @Option(names = "--minutes", description = "For how long at most.")
  private double minutes;

  @Option(names = "--no-shrink", description = "Print a violation as it was found.")
  private boolean unshrunk;

  @Option(names = "--keep-going", description = "Go on after a violation.")
  private boolean keepGoing;

  @Option(names = "--history", description = "Print all that happens.")
  private boolean history;

  @Option(names = "--mutants", description = "Put known bugs back, one at a time.")
  private boolean mutants;

  @Option(names = "--mutant", description = "Of mutants: only this one.")
  private List<String> only = List.of();

  @Option(names = "--out", description = "Write [{name, value, unit}, …] here.")
  private @Nullable Path figures;

  @Option(names = "--root", hidden = true)
  private Path root = Path.of(".");

  private final PrintStream out = System.out;
  private final Counts counts = new Counts();
  private final Map<Fault.Kind, Integer> runsWithout = new EnumMap<>(Fault.Kind.class);
  private long pods;
  private int fewestPods = Integer.MAX_VALUE;
  private long bound;
  private long waited;
  private int done;
  private int failed;

  @Override
  public Integer call() throws IOException, InterruptedException {
    return mutants || !only.isEmpty() ? findMutants() : simulate();
  }

  /** Prints a row of a table for each patch. Returns 1 if a known bug is not found. */
  private int findMutants() throws IOException, InterruptedException {
    List<String> all = Mutant.names(root);
    for (String name : only) {
      if (!all.contains(name)) {
        System.err.printf("there is no patch \"%s\"; %s has them%n", name, Mutant.FOLDER);
        return 2;
      }
    }
    int missed = 0;
    try (var search = new Mutants(root)) {
      for (String name : only.isEmpty() ? all : only) {
        long startedNs = System.nanoTime();
        Mutant mutant = Mutant.of(root, name);
        OptionalLong bySeed =
            mutant.isSimulated()
                ? search.seedThatFinds(mutant, seed, mutantSeeds())
                : OptionalLong.empty();
        boolean found = bySeed.isPresent() || search.isFoundByTest(mutant);
        missed += found ? 0 : 1;
        out.printf(
            Locale.ROOT,
            "| %s | `%s` | `%s %s`%s | %s | %.1f |%n",
            mutant.bug(),
            name,
            mutant.test().module(),
            mutant.test().name(),
            found ? "" : " does not fail",
            seedCell(mutant, bySeed),
            minutesSince(startedNs));
      }
    }
    return missed > 0 ? 1 : 0;
  }

  private String seedCell(Mutant mutant, OptionalLong found) {
    if (found.isPresent()) {
      return Long.toString(found.getAsLong());
    }
    return mutant.isSimulated()
        ? "none of %d to %d".formatted(seed, seed + mutantSeeds() - 1)
        : "not simulated";
  }

  private int mutantSeeds() {
    return runs == Integer.MAX_VALUE ? MUTANT_SEEDS : runs;
  }

  private int simulate() throws IOException {
    long startedNs = System.nanoTime();
    double limit = minutes > 0 ? minutes : runs == Integer.MAX_VALUE ? 1 : Double.MAX_VALUE;
    while (done < runs && minutesSince(startedNs) < limit && (failed == 0 || keepGoing)) {
      run(seed + done);
      done++;
    }
    summary(minutesSince(startedNs));
    if (figures != null) {
      Files.writeString(figures, figures().encodePrettily());
    }
    return failed > 0 || provesTooLittle() ? 1 : 0;
  }

  private static double minutesSince(long startedNs) {
    return (System.nanoTime() - startedNs) / (double) TimeUnit.MINUTES.toNanos(1);
  }

  private void run(long of) {
    Outcome outcome = new World(Scenario.of(of)).run();
    counts.add(outcome.counts());
    pods += outcome.created();
    bound += outcome.bound();
    waited += outcome.waited();
    if (outcome.violation().isEmpty()) {
      fewestPods = Math.min(fewestPods, outcome.created());
    }
    if (outcome.violation().isEmpty() && !outcome.scenario().faultless()) {
      for (Fault.Kind kind : Fault.Kind.values()) {
        runsWithout.merge(kind, outcome.counts().of(kind) == 0 ? 1 : 0, Integer::sum);
      }
    }
    if (history) {
      outcome.history().lines().forEach(out::println);
      out.println("hash " + outcome.history().hash());
    }
    outcome.violation().ifPresent(found -> report(of, outcome, found));
  }

  private void report(long of, Outcome outcome, Finding found) {
    failed++;
    out.printf("seed %d breaks %s: %s%n", of, found.invariant(), found.sentence());
    if (!unshrunk) {
      Outcome shortest = Shrinker.shrink(outcome, each -> new World(each).run(), SHRINK_RUNS_MAX);
      out.printf(
          Locale.ROOT,
          "the shortest history found has %d of %d faults and %d of %d pods:%n%s%n",
          shortest.scenario().faults().size(),
          outcome.scenario().faults().size(),
          shortest.scenario().pods().size(),
          outcome.scenario().pods().size(),
          Timeline.of(shortest));
    }
  }

  private JsonArray figures() {
    return new JsonArray()
        .add(figure("seeds", done, "seeds"))
        .add(figure("pods", (double) pods, "pods"))
        .add(figure("waited", 100 * waitedPart(), "%"))
        .add(figure("pods_per_cpu_minute", pods / Math.max(cpuMinutes(), 1e-9), "pods"))
        .add(figure("violations", failed, "violations"));
  }

  private static JsonObject figure(String name, double value, String unit) {
    return new JsonObject().put("name", "simulate." + name).put("value", value).put("unit", unit);
  }

  private void summary(double took) {
    out.printf(
        Locale.ROOT,
        "%d seeds, %d pods (at least %d each) in %.1f min (%.0f pods a minute, %.0f in a minute of"
            + " CPU time); %d admitted, %.0f %% waited at some time; %d seeds broke an invariant%n",
        done,
        pods,
        done == failed ? 0 : fewestPods,
        took,
        pods / Math.max(took, 1e-9),
        pods / Math.max(cpuMinutes(), 1e-9),
        bound,
        100 * waitedPart(),
        failed);
    for (Branch branch : Branch.values()) {
      out.printf(
          Locale.ROOT,
          "  %-28s %8d  %s%n",
          branch.name().toLowerCase(Locale.ROOT),
          counts.of(branch),
          isTooRare(branch) ? "too rare" : "");
    }
    out.println("faults:");
    for (Fault.Kind kind : Fault.Kind.values()) {
      int without = runsWithout.getOrDefault(kind, 0);
      out.printf(
          Locale.ROOT,
          "  %-28s %8d  %s%n",
          kind.name().toLowerCase(Locale.ROOT),
          counts.of(kind),
          without == 0 ? "" : "not in " + without + " seeds");
    }
  }

  /**
   * Of this process, with its compiler and garbage collector; others on the machine do not count.
   */
  private static double cpuMinutes() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system
        ? system.getProcessCpuTime() / (double) TimeUnit.MINUTES.toNanos(1)
        : 0;
  }

  private double waitedPart() {
    return waited / (double) Math.max(1, pods);
  }

  private boolean isTooRare(Branch branch) {
    return counts.of(branch) * LONG_RUN < MET_MIN * done;
  }

  /** In a long run, what is met too rarely proves nothing. */
  private boolean provesTooLittle() {
    return done >= LONG_RUN
        && (waitedPart() < WAITED_MIN
            || fewestPods < PODS_MIN
            || Stream.of(Branch.values()).anyMatch(this::isTooRare)
            || runsWithout.values().stream().anyMatch(without -> without > 0));
  }

  public static void main(String[] args) {
    System.exit(new CommandLine(new Simulate()).execute(args));
  }
}
