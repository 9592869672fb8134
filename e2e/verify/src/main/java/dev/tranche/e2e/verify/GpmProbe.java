package dev.tranche.e2e.verify;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import dev.tranche.e2e.verify.FunctionResults.Answer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Calls the functions of NVML's GPU performance monitoring (GPM): two samples of each GPU and MIG
 * device, about a second apart, and the values of the time between them.
 */
final class GpmProbe {
  private static final String AREA = "GPM";
  private static final String NAME = "values beside nvidia-smi's utilization";
  private static final int STEP_MS = 1_000;
  private static final int VERSION = 1;
  // More than nvmlGpmMetricsGet_t has in any header.
  private static final int METRICS_GET_BYTES = 64 << 10;
  private static final int METRICS_OFFSET = 24;
  private static final int METRIC_BYTES = 40;

  /** NVML's numbers of the metrics that the node plugin reads. */
  private static final Map<Integer, String> METRICS = new TreeMap<>();

  static {
    METRICS.put(1, "graphics");
    METRICS.put(2, "SM");
    METRICS.put(3, "SM occupancy");
    METRICS.put(5, "tensor");
    METRICS.put(10, "DRAM bandwidth");
  }

  private final NvmlProbe probe;
  private final Memory support = new Memory(2 * Integer.BYTES);
  private final Memory metrics = new Memory(METRICS_GET_BYTES);

  GpmProbe(NvmlProbe probe) {
    this.probe = probe;
  }

  /** The two samples of a GPU or MIG device. */
  private record Samples(String target, long handle, long earlier, long later) {}

  /** The functions that a GPU with GPM needs. */
  private record Functions(Function alloc, Function get, Function metrics, Function free) {}

  /**
   * @param targets handles of GPUs and MIG devices by their numbers
   */
  Check run(Map<String, Long> targets) {
    Map<String, Long> supported = supported(targets);
    Optional<Functions> functions = functions();
    if (supported.isEmpty() || functions.isEmpty()) {
      return Check.of(AREA, NAME, CheckStatus.NOT_AVAILABLE, "no GPU of this machine has GPM");
    }
    List<Samples> samples = allocate(functions.get(), supported);
    List<Answer> taken = new ArrayList<>();
    samples.forEach(s -> taken.add(take(functions.get(), s, s.earlier)));
    Map<String, String> smi = utilization();
    samples.forEach(s -> taken.add(take(functions.get(), s, s.later)));
    probe.put("nvmlGpmSampleGet", taken);
    List<String> lines = new ArrayList<>();
    if (taken.stream().allMatch(answer -> answer.code() == NvmlCodes.SUCCESS)) {
      probe.put(
          "nvmlGpmMetricsGet",
          samples.stream().map(s -> read(functions.get(), s, smi, lines)).toList());
    }
    free(functions.get(), samples);
    return lines.size() == supported.size()
        ? Check.of(AREA, NAME, CheckStatus.OK, String.join("; ", lines))
        : Check.of(
            AREA,
            NAME,
            CheckStatus.NOT_AVAILABLE,
            "NVML says that there is GPM, but it gives no values");
  }

  private Map<String, Long> supported(Map<String, Long> targets) {
    Map<String, Long> supported = new LinkedHashMap<>();
    probe
        .function("nvmlGpmQueryDeviceSupport")
        .ifPresent(
            f -> {
              List<Answer> answers = new ArrayList<>();
              targets.forEach(
                  (target, handle) -> {
                    support.setInt(0, VERSION);
                    int code = f.invokeInt(new Object[] {handle, support});
                    boolean has = code == 0 && support.getInt(Integer.BYTES) != 0;
                    if (has) {
                      supported.put(target, handle);
                    }
                    answers.add(new Answer(target, code, has ? "has GPM" : "has no GPM"));
                  });
              probe.put("nvmlGpmQueryDeviceSupport", answers);
            });
    return supported;
  }

  private Optional<Functions> functions() {
    Optional<Function> alloc = function("nvmlGpmSampleAlloc");
    Optional<Function> get = function("nvmlGpmSampleGet");
    Optional<Function> values = function("nvmlGpmMetricsGet");
    Optional<Function> free = function("nvmlGpmSampleFree");
    return alloc.isPresent() && get.isPresent() && values.isPresent() && free.isPresent()
        ? Optional.of(new Functions(alloc.get(), get.get(), values.get(), free.get()))
        : Optional.empty();
  }

  /** The result is replaced where there is a GPU to call the function for. */
  private Optional<Function> function(String name) {
    Optional<Function> found = probe.function(name);
    found.ifPresent(
        f -> probe.put(name, NvmlProbe.notCalled("not called without a GPU that has GPM")));
    return found;
  }

  private List<Samples> allocate(Functions functions, Map<String, Long> supported) {
    List<Answer> answers = new ArrayList<>();
    List<Samples> samples = new ArrayList<>();
    Memory out = new Memory(Long.BYTES);
    supported.forEach(
        (target, handle) -> {
          long[] buffers = new long[2];
          for (int i = 0; i < buffers.length; i++) {
            int code = functions.alloc.invokeInt(new Object[] {out});
            buffers[i] = code == NvmlCodes.SUCCESS ? out.getLong(0) : 0;
            answers.add(new Answer("", code, "made a buffer"));
          }
          samples.add(new Samples(target, handle, buffers[0], buffers[1]));
        });
    probe.put("nvmlGpmSampleAlloc", answers);
    return samples;
  }

  private static Answer take(Functions functions, Samples samples, long buffer) {
    long beganNs = System.nanoTime();
    int code = functions.get.invokeInt(new Object[] {samples.handle, buffer});
    return new Answer(samples.target, code, "in " + ms(beganNs));
  }

  private static String ms(long beganNs) {
    return String.format(Locale.ROOT, "%.2f ms", (System.nanoTime() - beganNs) / 1e6);
  }

  /** Waits, and returns the utilization of each GPU by its index; empty without nvidia-smi. */
  private static Map<String, String> utilization() {
    Map<String, String> byIndex = new LinkedHashMap<>();
    try {
      Thread.sleep(STEP_MS);
      Optional<Tool> smi = Tool.find("nvidia-smi");
      if (smi.isPresent()) {
        String csv =
            smi.get().run("--query-gpu=index,utilization.gpu", "--format=csv,noheader,nounits");
        csv.lines()
            .map(line -> line.strip().split(", *"))
            .filter(fields -> fields.length == 2)
            .forEach(fields -> byIndex.put(fields[0], fields[1] + " %"));
      }
    } catch (IOException e) {
      // The values are shown without it.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return byIndex;
  }

  private Answer read(
      Functions functions, Samples samples, Map<String, String> smi, List<String> lines) {
    metrics.clear();
    metrics.setInt(0, VERSION);
    metrics.setInt(4, METRICS.size());
    metrics.setLong(8, samples.earlier);
    metrics.setLong(16, samples.later);
    int at = METRICS_OFFSET;
    for (int id : METRICS.keySet()) {
      metrics.setInt(at, id);
      at += METRIC_BYTES;
    }
    long beganNs = System.nanoTime();
    int code = functions.metrics.invokeInt(new Object[] {metrics});
    Answer answer = new Answer(samples.target, code, "in " + ms(beganNs));
    if (code == NvmlCodes.SUCCESS) {
      lines.add(
          "GPU %s: %s; nvidia-smi %s"
              .formatted(
                  samples.target, values(), smi.getOrDefault(samples.target, "does not say")));
    }
    return answer;
  }

  private String values() {
    List<String> values = new ArrayList<>();
    int at = METRICS_OFFSET;
    for (String name : METRICS.values()) {
      int code = metrics.getInt(at + 4);
      double value = metrics.getDouble(at + 8);
      values.add(
          code == NvmlCodes.SUCCESS
              ? String.format(Locale.ROOT, "%s %.1f %%", name, value)
              : name + " " + NvmlCodes.name(code));
      at += METRIC_BYTES;
    }
    return String.join(", ", values);
  }

  private void free(Functions functions, List<Samples> samples) {
    List<Answer> answers = new ArrayList<>();
    for (Samples of : samples) {
      for (long buffer : new long[] {of.earlier, of.later}) {
        answers.add(new Answer("", functions.free.invokeInt(new Object[] {buffer}), "freed it"));
      }
    }
    probe.put("nvmlGpmSampleFree", answers);
  }
}
