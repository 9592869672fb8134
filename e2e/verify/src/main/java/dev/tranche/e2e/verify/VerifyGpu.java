package dev.tranche.e2e.verify;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.tranche.process.Sha256;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The command {@code ./verify-gpu}. */
@Command(
    name = "verify-gpu",
    sortOptions = false,
    description =
        "Checks what Tranche's node plugin does with the GPUs of this machine, and writes a"
            + " report.",
    footer =
        "./verify-gpu --cluster [--mps] [--simulated] runs Kubernetes and Tranche on these GPUs"
            + " instead, and checks pods.%nExit status: 0 if nothing failed, 1 if something did, 2"
            + " for a wrong command line.")
public final class VerifyGpu implements Callable<Integer> {
  private static final int SECONDS_MAX = 3_600;
  private static final Pattern NUMBERS = Pattern.compile("\\d+(?:\\.\\d+)+");

  @Option(names = "--seconds", description = "How long to sample, 1 to 3600. Default: 60.")
  private int seconds = 60;

  @Option(
      names = "--out",
      defaultValue = "${sys:tranche.verify.out:-verify-gpu.json}",
      description = "The report as JSON. Default: ${DEFAULT-VALUE}.")
  private Path out = Path.of("verify-gpu.json");

  @Option(names = "--mps", description = "Start an MPS control daemon, too; needs root.")
  private boolean mps;

  @Option(names = "--nvml", description = "Another libnvidia-ml.so.1 than the loader's.")
  private @Nullable Path nvml;

  @Option(names = "--driver-root", description = "Where the driver is installed. Default: /.")
  private Path driverRoot = Path.of("/");

  // Only picocli uses it.
  @SuppressWarnings("UnusedVariable")
  @Option(names = "--help", usageHelp = true, description = "Print this.")
  private boolean help;

  @Override
  public Integer call() throws Exception {
    if (seconds < 1 || seconds > SECONDS_MAX) {
      System.err.println("--seconds is 1 to " + SECONDS_MAX + ", not " + seconds);
      return 2;
    }
    if (nvml != null && !Files.exists(nvml)) {
      System.err.println("--nvml " + nvml + " does not exist; give the path of libnvidia-ml.so.1");
      return 2;
    }
    Optional<Path> library = Optional.ofNullable(nvml).map(Path::toAbsolutePath);
    VerifyOptions options =
        new VerifyOptions(library, driverRoot.toAbsolutePath().normalize(), seconds, mps);
    Report report = new Report(System.out, Anonymizer.forThisMachine());
    try {
      check(options, report);
    } catch (IOException | RuntimeException e) {
      report.add("verify-gpu", "all checks", CheckStatus.FAILED, "the checks ended early: " + e);
    }
    report.write(out);
    return report.failed() ? 1 : 0;
  }

  private static void check(VerifyOptions options, Report report) throws Exception {
    report.fact("Tranche", known(version()));
    report.fact("date", LocalDate.now(ZoneOffset.UTC).toString());
    report.fact("kernel", kernel(System.getProperty("os.version")));
    report.fact("machine", System.getProperty("os.arch"));
    report.fact("toolkit", toolkit());
    Optional<NvmlProbe> nvml = NvmlChecks.run(options, report);
    if (nvml.isEmpty()) {
      return;
    }
    NvmlProbe found = nvml.get();
    report.fact("GPUs", models(found.values("nvmlDeviceGetName")));
    report.fact("driver", known(found.value("nvmlSystemGetDriverVersion")));
    report.fact("NVML", known(found.value("nvmlSystemGetNVMLVersion")));
    KubeletChecks kubelet = new KubeletChecks(options, report, found.count());
    if (kubelet.envvar()) {
      kubelet.otherStrategies();
    }
    new ProcessChecks(report).run(found.pids());
    List<String> migUuids = found.migUuids();
    if (migUuids.isEmpty()) {
      report.add("MIG", "devices", CheckStatus.NOT_AVAILABLE, "no GPU has a MIG device");
    } else {
      report.add("MIG", "uuids", CheckStatus.OK, "NVML writes them " + String.join(", ", migUuids));
      kubelet.mig(migUuids);
    }
    new MpsChecks(options, report).run();
  }

  // The checks are no jar of their own, and all modules have one version.
  private static String version() {
    String version = Sha256.class.getPackage().getImplementationVersion();
    return version == null ? "" : version;
  }

  /** Returns the kernel's numbers. What follows them may name who built it. */
  static String kernel(String release) {
    Matcher numbers = NUMBERS.matcher(release);
    return numbers.lookingAt() ? numbers.group() : "";
  }

  /** Returns how many GPUs there are of each model. */
  static String models(List<String> names) {
    Map<String, Long> counts =
        names.stream()
            .collect(Collectors.groupingBy(name -> name, TreeMap::new, Collectors.counting()));
    return counts.entrySet().stream()
        .map(model -> model.getValue() + " × " + model.getKey())
        .collect(Collectors.joining(", "));
  }

  private static String toolkit() throws InterruptedException {
    Optional<Tool> program = Tool.find("nvidia-ctk");
    if (program.isEmpty()) {
      return "none";
    }
    try {
      Matcher version = NUMBERS.matcher(program.get().run("--version"));
      return version.find() ? version.group() : "not reported";
    } catch (IOException e) {
      return "not reported";
    }
  }

  private static String known(String version) {
    return version.isEmpty() ? "not reported" : version;
  }

  public static void main(String[] args) {
    // A uuid's ellipsis, also where the locale is POSIX.
    System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.out), true, UTF_8));
    System.exit(new CommandLine(new VerifyGpu()).execute(args));
  }
}
