package dev.tranche.e2e.verify;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Compares the plugin's samples with what nvidia-smi reports in the same seconds. */
final class SampleChecks {
  private static final String AREA = "Samples";
  private static final int STEP_MS = 1_000;
  // The means cover the same time, but their samples are not taken at the same moments.
  private static final double SM_SLACK_PERCENT = 10;
  private static final double MEMORY_SLACK_MIB = 64;
  private static final double MEMORY_SLACK_RATIO = 0.02;
  private static final Pattern LINE = Pattern.compile("(\\S+), (\\S+), (\\S+)");

  private final VerifyOptions options;
  private final Report report;
  private final Optional<Tool> smi = Tool.find("nvidia-smi");

  SampleChecks(VerifyOptions options, Report report) {
    this.options = options;
    this.report = report;
  }

  /** One source's figures of one GPU. */
  private static final class Means {
    private final List<Double> values = new ArrayList<>();

    void add(double value) {
      if (!Double.isNaN(value)) {
        values.add(value);
      }
    }

    boolean none() {
      return values.isEmpty();
    }

    double mean() {
      return values.stream().mapToDouble(Double::doubleValue).average().orElse(Double.NaN);
    }
  }

  private final Map<String, Means> ourMemoryMib = new TreeMap<>();
  private final Map<String, Means> ourSmPercent = new TreeMap<>();
  private final Map<String, Means> theirMemoryMib = new TreeMap<>();
  private final Map<String, Means> theirSmPercent = new TreeMap<>();

  void run(PluginRun plugin) throws IOException, InterruptedException {
    long endNs = System.nanoTime() + options.seconds() * 1_000_000_000L;
    int rounds = 0;
    String smiFailure = "";
    do {
      Thread.sleep(STEP_MS);
      plugin
          .byUuid("tranche_gpu_memory_used_bytes")
          .forEach((uuid, bytes) -> add(ourMemoryMib, uuid, bytes / (1 << 20)));
      plugin
          .byUuid("tranche_gpu_sm_utilization_ratio")
          .forEach((uuid, ratio) -> add(ourSmPercent, uuid, ratio * 100));
      smiFailure = smi.isPresent() ? querySmi(smi.get()) : "";
      rounds++;
    } while (System.nanoTime() < endNs);
    // What NVML does not tell of a GPU has no series.
    ourSmPercent.keySet().forEach(uuid -> ourMemoryMib.computeIfAbsent(uuid, u -> new Means()));
    ourMemoryMib.keySet().forEach(uuid -> ourSmPercent.computeIfAbsent(uuid, u -> new Means()));
    sampled(rounds);
    compare("memory used", "MiB", ourMemoryMib, theirMemoryMib, smiFailure);
    compare("SM utilization", "%", ourSmPercent, theirSmPercent, smiFailure);
    gpm(plugin);
    events(plugin);
  }

  private static void add(Map<String, Means> all, String uuid, double value) {
    all.computeIfAbsent(uuid, u -> new Means()).add(value);
  }

  private String querySmi(Tool tool) throws InterruptedException {
    try {
      String csv =
          tool.run("--query-gpu=uuid,memory.used,utilization.gpu", "--format=csv,noheader,nounits");
      csv.lines().map(String::strip).map(LINE::matcher).filter(Matcher::matches).forEach(this::smi);
      return "";
    } catch (IOException e) {
      return String.valueOf(e.getMessage());
    }
  }

  private void smi(Matcher line) {
    add(theirMemoryMib, line.group(1), number(line.group(2)));
    add(theirSmPercent, line.group(1), number(line.group(3)));
  }

  // "[N/A]" where the GPU has no such figure.
  private static double number(String text) {
    return text.matches("\\d+(\\.\\d+)?") ? Double.parseDouble(text) : Double.NaN;
  }

  private void sampled(int rounds) {
    List<String> unknown =
        ourMemoryMib.entrySet().stream()
            .filter(e -> e.getValue().none())
            .map(Map.Entry::getKey)
            .toList();
    report.add(
        AREA,
        "the plugin's",
        ourMemoryMib.isEmpty() ? CheckStatus.FAILED : CheckStatus.OK,
        "%d rounds of %d GPUs%s"
            .formatted(
                rounds,
                ourMemoryMib.size(),
                unknown.isEmpty()
                    ? ""
                    : "; NVML returns no memory of " + String.join(", ", unknown)));
  }

  private void compare(
      String what,
      String unit,
      Map<String, Means> ours,
      Map<String, Means> theirs,
      String failure) {
    String name = what + " beside nvidia-smi";
    if (smi.isEmpty()) {
      report.add(AREA, name, CheckStatus.NOT_AVAILABLE, "there is no nvidia-smi on the PATH");
      return;
    }
    List<String> lines = new ArrayList<>();
    boolean close = true;
    for (Map.Entry<String, Means> our : ours.entrySet()) {
      Means their = theirs.get(our.getKey());
      if (their == null || their.none() || our.getValue().none()) {
        // Neither source has the figure, or only one of them.
        boolean neither = their != null && their.none() && our.getValue().none();
        close &= neither;
        lines.add(
            our.getKey() + " " + (neither ? "has no such figure" : "is reported by one only"));
        continue;
      }
      close &= close(unit, our.getValue().mean(), their.mean());
      lines.add(
          "%s: ours %.1f %s, nvidia-smi %.1f %s"
              .formatted(our.getKey(), our.getValue().mean(), unit, their.mean(), unit));
    }
    if (theirs.isEmpty()) {
      String why = failure.isEmpty() ? "it lists no GPU" : failure;
      report.add(AREA, name, CheckStatus.NOT_AVAILABLE, "nvidia-smi gives no figures: " + why);
    } else {
      report.add(
          AREA, name, close ? CheckStatus.OK : CheckStatus.DIFFERS, String.join("; ", lines));
    }
  }

  private static boolean close(String unit, double ours, double theirs) {
    double slack =
        unit.equals("%")
            ? SM_SLACK_PERCENT
            : Math.max(MEMORY_SLACK_MIB, MEMORY_SLACK_RATIO * theirs);
    return Math.abs(ours - theirs) <= slack;
  }

  private void gpm(PluginRun plugin) throws IOException, InterruptedException {
    Map<String, List<String>> values = new TreeMap<>();
    for (String each : List.of("sm_active", "sm_occupancy", "tensor_active", "dram_active")) {
      plugin
          .byUuid("tranche_gpu_%s_ratio".formatted(each))
          .forEach(
              (uuid, ratio) ->
                  values
                      .computeIfAbsent(uuid, u -> new ArrayList<>())
                      .add(String.format(Locale.ROOT, "%s %.1f %%", each, ratio * 100)));
    }
    List<String> lines = new ArrayList<>();
    values.forEach((uuid, its) -> lines.add(uuid + ": " + String.join(", ", its)));
    report.add(
        AREA,
        "GPM",
        lines.isEmpty() ? CheckStatus.NOT_AVAILABLE : CheckStatus.OK,
        lines.isEmpty() ? "the plugin gets no values of GPM" : String.join("; ", lines));
  }

  private void events(PluginRun plugin) throws IOException, InterruptedException {
    Optional<Double> unwatched = plugin.metric("tranche_node_gpus_unwatched");
    boolean all = unwatched.isPresent() && unwatched.get() == 0;
    report.add(
        "XIDs",
        "registration",
        all ? CheckStatus.OK : CheckStatus.NOT_AVAILABLE,
        all
            ? "NVML reports the errors of every GPU"
            : "NVML reports no errors of %.0f GPUs, so only their loss is detected"
                .formatted(unwatched.orElse(Double.NaN)));
  }
}
