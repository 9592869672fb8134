package dev.tranche.e2e.verify;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.NativeLibrary;
import dev.tranche.e2e.verify.FunctionResults.Answer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Calls each NVML function that the node plugin binds, but those of GPM, and records its answers.
 * It has its own list of these functions, and skips those that would change a GPU. Not thread-safe;
 * may block in NVML.
 */
final class NvmlProbe {
  static final String AREA = "NVML function by function";

  static final String LIBRARY = "libnvidia-ml.so.1";
  // Much more than any struct of NVML has.
  private static final int OUT_BYTES = 256 << 10;
  private static final int TEXT_BYTES = 96;
  private static final int LIST_MAX = 4096;
  // Versions and offsets of structs; nvml.h has their layouts.
  private static final int PCI_BUS_ID_OFFSET = 36;
  private static final int MEMORY_V2_VERSION = 40 | 2 << 24;
  private static final int MEMORY_V2_TOTAL_OFFSET = 8;
  private static final int ADDRESSING_VERSION = 8 | 1 << 24;
  // Drivers 535.54 to 535.86 have a longer struct under the same name.
  private static final int PROCESS_BYTES = 24;
  private static final int PROCESS_535_BYTES = 32;
  private static final byte UNTOUCHED = (byte) 0xA5;
  private static final int SHORT_WAIT_MS = 100;

  /** The node plugin does not work without these. */
  private static final Set<String> NEEDED =
      Set.of(
          "nvmlInit_v2",
          "nvmlShutdown",
          "nvmlErrorString",
          "nvmlDeviceGetCount_v2",
          "nvmlDeviceGetHandleByIndex_v2",
          "nvmlDeviceGetUUID",
          "nvmlDeviceGetName",
          "nvmlDeviceGetMinorNumber");

  /** Return codes that are answers, too: there is no process, no link, or no event yet. */
  private static final Map<String, List<Integer>> EXPECTED =
      Map.of(
          "nvmlDeviceGetProcessUtilization",
          List.of(NvmlCodes.NOT_FOUND),
          "nvmlDeviceGetNvLinkState",
          List.of(NvmlCodes.INVALID_ARGUMENT, NvmlCodes.NOT_FOUND),
          "nvmlDeviceGetNvLinkRemotePciInfo_v2",
          List.of(NvmlCodes.INVALID_ARGUMENT, NvmlCodes.NOT_FOUND),
          "nvmlEventSetWait_v2",
          List.of(NvmlCodes.TIMEOUT));

  private final Map<String, FunctionResults> results = new LinkedHashMap<>();
  private final List<Check> others = new ArrayList<>();
  // By function, for all of its calls.
  private final Map<String, Long> tookNs = new HashMap<>();
  private final Memory out = new Memory(OUT_BYTES);
  private final Memory second = new Memory(OUT_BYTES);
  private final NativeLibrary library;
  // By index; a GPU without a handle is left out.
  private final Map<Integer, Long> devices = new LinkedHashMap<>();
  private final Map<String, Long> migDevices = new LinkedHashMap<>();
  private final List<Integer> pids = new ArrayList<>();
  private final List<String> migUuids = new ArrayList<>();
  private int count;

  private NvmlProbe(NativeLibrary library) {
    this.library = library;
  }

  /** One call, which leaves its answer in {@code out} or {@code second}. */
  private interface Call {
    int of(Function function);
  }

  private interface DeviceCall {
    int of(Function function, long device);
  }

  private interface Answers {
    List<Answer> of(Function function);
  }

  /**
   * Calls every function in turn; those that need a GPU only where there is one.
   *
   * @throws UnsatisfiedLinkError if there is no library
   */
  static NvmlProbe run(VerifyOptions options) {
    Optional<Path> file = options.nvml().or(() -> options.library(LIBRARY));
    var probe = new NvmlProbe(NativeLibrary.getInstance(file.map(Path::toString).orElse(LIBRARY)));
    probe.once("nvmlInit_v2", f -> probe.call(f), () -> "started");
    probe.errorString();
    if (!probe.value("nvmlInit_v2").isEmpty()) {
      probe.probeAll();
      probe.once("nvmlShutdown", f -> probe.call(f), () -> "done");
    }
    return probe;
  }

  List<Check> checks() {
    return Stream.concat(results.values().stream().map(of -> of.check(AREA)), others.stream())
        .toList();
  }

  private void probeAll() {
    once("nvmlSystemGetDriverVersion", this::text, this::string);
    once("nvmlSystemGetNVMLVersion", this::text, this::string);
    once("nvmlDeviceGetCount_v2", this::plain, this::number);
    count = value("nvmlDeviceGetCount_v2").isEmpty() ? 0 : out.getInt(0);
    if (count > 0) {
      identity();
      figures();
      processes();
      mig();
      new MemoryLimitProbe(this).run(devices);
      links();
      events();
    }
  }

  /** Returns the number of GPUs that NVML counts. */
  int count() {
    return count;
  }

  /** Returns the value of a function that was called once, or empty if it did not succeed. */
  String value(String function) {
    FunctionResults found = results.get(function);
    return found == null ? "" : found.answers().getFirst().value();
  }

  /** Returns the values of a function that was called for each GPU, without those that failed. */
  List<String> values(String function) {
    FunctionResults found = results.get(function);
    return found == null
        ? List.of()
        : found.answers().stream()
            .filter(answer -> answer.code() == NvmlCodes.SUCCESS)
            .map(FunctionResults.Answer::value)
            .toList();
  }

  private void errorString() {
    probe(
        "nvmlErrorString",
        f -> {
          Object[] arguments = {NvmlCodes.NOT_SUPPORTED};
          String text = timed(f, () -> f.invokeString(arguments, false));
          return List.of(new Answer("", NvmlCodes.SUCCESS, text));
        });
  }

  private void identity() {
    probe(
        "nvmlDeviceGetHandleByIndex_v2",
        f -> {
          List<Answer> answers = new ArrayList<>();
          for (int index = 0; index < count; index++) {
            int code = call(f, index, out);
            if (code == NvmlCodes.SUCCESS) {
              devices.put(index, out.getLong(0));
            }
            answers.add(new Answer(Integer.toString(index), code, "has a handle"));
          }
          return answers;
        });
    each("nvmlDeviceGetUUID", this::text, this::string);
    each("nvmlDeviceGetName", this::text, this::string);
    each("nvmlDeviceGetMinorNumber", this::plain, this::number);
    each("nvmlDeviceGetPciInfo_v3", this::plain, () -> out.getString(PCI_BUS_ID_OFFSET));
    each(
        "nvmlDeviceGetCudaComputeCapability",
        (f, device) -> call(f, device, out, second),
        () -> out.getInt(0) + "." + second.getInt(0));
    each("nvmlDeviceGetComputeMode", this::plain, this::number);
    probe("nvmlDeviceSetComputeMode", f -> notCalled(", it changes the GPU"));
  }

  private void figures() {
    each("nvmlDeviceGetMemoryInfo", this::plain, () -> mebibytes(0));
    each(
        "nvmlDeviceGetMemoryInfo_v2",
        (f, device) -> {
          out.setInt(0, MEMORY_V2_VERSION);
          return plain(f, device);
        },
        () -> mebibytes(MEMORY_V2_TOTAL_OFFSET));
    each(
        "nvmlDeviceGetAddressingMode",
        (f, device) -> {
          out.setInt(0, ADDRESSING_VERSION);
          return plain(f, device);
        },
        () ->
            switch (out.getInt(Integer.BYTES)) {
              case 1 -> "HMM";
              case 2 -> "ATS";
              default -> "none";
            });
    each("nvmlDeviceGetUtilizationRates", this::plain, () -> out.getInt(0) + " %");
    each(
        "nvmlDeviceGetTemperature",
        (f, device) -> call(f, device, 0, out),
        () -> out.getInt(0) + " °C");
    each(
        "nvmlDeviceGetPowerUsage",
        this::plain,
        () -> String.format(Locale.ROOT, "%.1f W", out.getInt(0) / 1e3));
    each(
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        this::plain,
        () -> "0x" + Long.toHexString(out.getLong(0)));
    each(
        "nvmlDeviceGetTotalEccErrors",
        (f, device) -> call(f, device, 1, 0, out),
        () -> Long.toString(out.getLong(0)));
  }

  private void processes() {
    for (String which : List.of("Compute", "Graphics", "MPSCompute")) {
      each(
          "nvmlDeviceGet" + which + "RunningProcesses_v3",
          (f, device) -> {
            second.setInt(0, LIST_MAX);
            return call(f, device, second, out);
          },
          () -> second.getInt(0) + " processes");
    }
    each(
        "nvmlDeviceGetProcessUtilization",
        (f, device) -> {
          second.setInt(0, LIST_MAX);
          return call(f, device, out, second, 0L);
        },
        () -> second.getInt(0) + " samples");
    readPids();
  }

  /** The ids of the processes that compute on any GPU. */
  List<Integer> pids() {
    return List.copyOf(pids);
  }

  private void readPids() {
    Optional<Function> list = function("nvmlDeviceGetComputeRunningProcesses_v3");
    for (long device : devices.values()) {
      second.setInt(0, LIST_MAX);
      out.setMemory(0, OUT_BYTES, UNTOUCHED);
      if (list.isEmpty() || call(list.get(), device, second, out) != NvmlCodes.SUCCESS) {
        continue;
      }
      int found = Math.min(second.getInt(0), LIST_MAX);
      boolean longer = found > 0 && out.getByte((long) found * PROCESS_BYTES) != UNTOUCHED;
      for (int i = 0; i < found; i++) {
        pids.add(out.getInt((long) i * (longer ? PROCESS_535_BYTES : PROCESS_BYTES)));
      }
    }
  }

  private void mig() {
    each(
        "nvmlDeviceGetMigMode",
        (f, device) -> call(f, device, out, second),
        () -> out.getInt(0) == 1 ? "MIG is on" : "MIG is off");
    Map<Integer, Integer> places = new LinkedHashMap<>();
    probe(
        "nvmlDeviceGetMaxMigDeviceCount",
        f ->
            ofDevices(
                (index, device) -> {
                  int code = plain(f, device);
                  places.put(index, code == NvmlCodes.SUCCESS ? out.getInt(0) : 0);
                  return new Answer(Integer.toString(index), code, number());
                }));
    probe(
        "nvmlDeviceGetMigDeviceHandleByIndex",
        f ->
            ofDevices(
                (index, device) -> migHandles(f, index, device, places.getOrDefault(index, 0))));
    readMigUuids();
    eachMigDevice("nvmlDeviceGetGpuInstanceId", this::number);
    eachMigDevice("nvmlDeviceGetComputeInstanceId", this::number);
    eachMigDevice("nvmlDeviceGetAttributes_v2", () -> out.getInt(24) + " GPU slices");
  }

  private Answer migHandles(Function function, int index, long device, int places) {
    int found = 0;
    for (int place = 0; place < places; place++) {
      if (call(function, device, place, out) == NvmlCodes.SUCCESS) {
        migDevices.put(index + ":" + place, out.getLong(0));
        found++;
      }
    }
    return new Answer(Integer.toString(index), NvmlCodes.SUCCESS, "has " + found + " MIG devices");
  }

  /** The uuids of MIG devices as NVML writes them. */
  List<String> migUuids() {
    return List.copyOf(migUuids);
  }

  private void readMigUuids() {
    Optional<Function> uuid = function("nvmlDeviceGetUUID");
    for (long device : migDevices.values()) {
      if (uuid.isPresent() && text(uuid.get(), device) == NvmlCodes.SUCCESS) {
        migUuids.add(string());
      }
    }
  }

  private void eachMigDevice(String name, Supplier<String> value) {
    probe(
        name,
        f -> {
          List<Answer> answers = new ArrayList<>();
          migDevices.forEach(
              (place, device) -> answers.add(answer(place, plain(f, device), value)));
          return answers.isEmpty() ? notCalled(" without a MIG device") : answers;
        });
  }

  private void links() {
    List<Long> handles = List.copyOf(devices.values());
    probe(
        "nvmlDeviceGetTopologyCommonAncestor",
        f -> {
          List<Answer> answers = new ArrayList<>();
          for (int other = 1; other < handles.size(); other++) {
            int code = call(f, handles.getFirst(), handles.get(other), out);
            answers.add(new Answer("0 and " + other, code, "level " + out.getInt(0)));
          }
          return answers.isEmpty() ? notCalled(" for one GPU") : answers;
        });
    each(
        "nvmlDeviceGetNvLinkState",
        (f, device) -> call(f, device, 0, out),
        () -> "link 0 is " + (out.getInt(0) == 1 ? "on" : "off"));
    each(
        "nvmlDeviceGetNvLinkRemotePciInfo_v2",
        (f, device) -> call(f, device, 0, out),
        () -> "link 0 has another end");
  }

  private void events() {
    once("nvmlEventSetCreate", this::plain, () -> "made a set");
    boolean made = !value("nvmlEventSetCreate").isEmpty();
    long set = made ? out.getLong(0) : 0;
    each(
        "nvmlDeviceGetSupportedEventTypes",
        this::plain,
        () -> "0x" + Long.toHexString(out.getLong(0)));
    if (!made) {
      return;
    }
    Optional<Function> types = function("nvmlDeviceGetSupportedEventTypes");
    each(
        "nvmlDeviceRegisterEvents",
        (f, device) -> {
          boolean supported = types.isPresent() && plain(types.get(), device) == NvmlCodes.SUCCESS;
          // XIDs and double bit errors, as far as the GPU has them.
          long wanted = supported ? out.getLong(0) & (8 | 2) : 8;
          return call(f, device, wanted, set);
        },
        () -> "registered");
    once("nvmlEventSetWait_v2", f -> call(f, set, out, SHORT_WAIT_MS), () -> "returned an event");
    once("nvmlEventSetFree", f -> call(f, set), () -> "freed it");
  }

  private void once(String name, Call call, Supplier<String> value) {
    probe(name, f -> List.of(answer("", call.of(f), value)));
  }

  private void each(String name, DeviceCall call, Supplier<String> value) {
    if (!devices.isEmpty()) {
      probe(
          name,
          f ->
              ofDevices(
                  (index, device) -> answer(Integer.toString(index), call.of(f, device), value)));
    }
  }

  private static Answer answer(String target, int code, Supplier<String> value) {
    return new Answer(target, code, code == NvmlCodes.SUCCESS ? value.get() : "");
  }

  private static List<Answer> notCalled(String why) {
    return List.of(new Answer("", NvmlCodes.SUCCESS, FunctionResults.NOT_CALLED + why));
  }

  private List<Answer> ofDevices(BiFunction<Integer, Long, Answer> answer) {
    return devices.entrySet().stream()
        .map(device -> answer.apply(device.getKey(), device.getValue()))
        .toList();
  }

  private void probe(String name, Answers answers) {
    function(name).ifPresent(f -> put(name, answers.of(f)));
  }

  void put(String name, List<Answer> answers) {
    var expected = EXPECTED.getOrDefault(name, List.of());
    long callsNs = tookNs.getOrDefault(name, 0L);
    results.put(name, new FunctionResults(name, NEEDED.contains(name), expected, answers, callsNs));
  }

  /** Reports that a function was not called. */
  void skip(String name, String why) {
    others.add(Check.of(AREA, name, CheckStatus.NOT_AVAILABLE, why));
  }

  /** Reports that NVML does not return what it was given. */
  void differs(String name, String what) {
    others.add(Check.of(AREA, name, CheckStatus.DIFFERS, what));
  }

  Optional<Function> function(String name) {
    try {
      return Optional.of(library.getFunction(name));
    } catch (UnsatisfiedLinkError absent) {
      if (others.stream().noneMatch(check -> check.name().equals(name))) {
        others.add(FunctionResults.missing(AREA, name, NEEDED.contains(name)));
      }
      return Optional.empty();
    }
  }

  int call(Function function, Object... arguments) {
    return timed(function, () -> function.invokeInt(arguments));
  }

  private <T> T timed(Function function, Supplier<T> call) {
    long startNs = System.nanoTime();
    T answer = call.get();
    tookNs.merge(function.getName(), System.nanoTime() - startNs, Long::sum);
    return answer;
  }

  private int plain(Function function) {
    return call(function, out);
  }

  private int plain(Function function, long device) {
    return call(function, device, out);
  }

  private int text(Function function) {
    return call(function, out, TEXT_BYTES);
  }

  private int text(Function function, long device) {
    return call(function, device, out, TEXT_BYTES);
  }

  private String string() {
    return out.getString(0);
  }

  private String number() {
    return Integer.toString(out.getInt(0));
  }

  private String mebibytes(long offset) {
    return (out.getLong(offset) >> 20) + " MiB";
  }
}
