package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.health.XidPolicy;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.Gpm;
import dev.tranche.nodeplugin.nvml.GpuEvent;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuProcess;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.nodeplugin.usage.UsageReader;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/** A machine whose driver and GPUs fail in the ways that real ones do, and recover. */
final class FailingMachine implements Nvml {
  private static final int NO_PERMISSION = 4;
  private static final int DRIVER_NOT_LOADED = 9;
  private static final int GPU_IS_LOST = 15;
  static final int UNKNOWN_ERROR = 999;
  static final long QUIET_MS = 300_000;

  /** How a GPU answers. */
  enum State {
    FINE,
    /** Every call says that the GPU is lost. */
    LOST,
    /** No call gets a handle. */
    WITHOUT_HANDLE,
    /** It says who it is, but its load is an error. */
    LOAD_FAILS,
    /** A call fails in a way that the code does not expect. */
    UNEXPECTED,
    /** It says who it is, but its load is only for privileged callers. */
    LOAD_DENIED;

    boolean answers() {
      return this != LOST && this != WITHOUT_HANDLE && this != UNEXPECTED;
    }
  }

  /** One GPU, whether NVML lists it or not. */
  static final class Board {
    final String uuid;
    State state = State.FINE;
    boolean migOn;
    List<String> migDevices = List.of();
    long eccErrors;
    // Calls for its processes that fail from now on.
    int processFailures;

    Board(String uuid) {
      this.uuid = uuid;
    }

    /** Turns MIG on, with these devices. */
    void mig(String... uuids) {
      migOn = true;
      migDevices = List.of(uuids);
    }
  }

  private record Raised(Board board, long xid) {}

  /** Those that NVML lists, in the order of its indexes. */
  final List<Board> listed = new ArrayList<>();

  final Set<String> subscribed = new HashSet<>();
  private final Deque<Raised> errors = new ArrayDeque<>();

  /** The uuids whose errors NVML has delivered, and the XIDs, since they were last taken. */
  final List<GpuEvent> delivered = new ArrayList<>();

  String driver = "1";
  boolean driverLoaded = true;
  boolean waitFails;
  boolean subscribingFails;
  boolean reportsErrors = true;
  int waits;

  /** Why MIG devices are left out. */
  final List<String> leftOut = new ArrayList<>();

  /** Whose processes were asked for. */
  final List<String> queried = new ArrayList<>();

  /** Delivered before those that are raised. */
  final Deque<GpuEvent> events = new ArrayDeque<>();

  /** A watch over such machines, to which these XIDs are no faults. */
  static GpuWatch watch(String disabledXids, LongSupplier clockMs) {
    Path none = Path.of("none");
    return new GpuWatch(
        new HealthOptions(XidPolicy.parse(disabledXids, "", word -> {}), QUIET_MS),
        new UsageReader(none, none, clockMs),
        clockMs,
        new NodeMetrics().failures());
  }

  Board list(String uuid) {
    Board board = new Board(uuid);
    listed.add(board);
    return board;
  }

  void raise(Board board, long xid) {
    errors.add(new Raised(board, xid));
  }

  private Board answering(int index) {
    checkDriver();
    Board board = listed.get(index);
    switch (board.state) {
      case LOST -> throw new NvmlException(GPU_IS_LOST, "GPU is lost");
      case WITHOUT_HANDLE -> throw new NvmlException(UNKNOWN_ERROR, "no handle");
      case UNEXPECTED -> throw new IllegalStateException("nobody expects this");
      case FINE, LOAD_FAILS, LOAD_DENIED -> {}
    }
    return board;
  }

  private void checkDriver() {
    if (!driverLoaded) {
      throw new NvmlException(DRIVER_NOT_LOADED, "Driver Not Loaded");
    }
  }

  @Override
  public String driverVersion() {
    checkDriver();
    return driver;
  }

  @Override
  public int count() {
    checkDriver();
    return listed.size();
  }

  @Override
  public GpuInfo info(int index) {
    Board board = answering(index);
    return gpu(index, board.uuid, board.migOn ? Mig.ON : Mig.OFF);
  }

  private static GpuInfo gpu(int index, String uuid, Mig mig) {
    return new GpuInfo(index, uuid, "NVIDIA A100", index, 100, 0, -1, 8, mig);
  }

  @Override
  public List<GpuInfo> migDevices(GpuInfo gpu, Consumer<String> told) {
    leftOut.forEach(told);
    Board board = answering(gpu.index());
    return board.migOn
        ? IntStream.range(0, board.migDevices.size())
            .mapToObj(i -> migDevice(gpu, board.migDevices.get(i), i))
            .toList()
        : List.of();
  }

  private static GpuInfo migDevice(GpuInfo gpu, String uuid, int number) {
    Mig mig = new Mig.Device(number, gpu.uuid(), "1g.5gb", number, 0, List.of());
    return gpu(gpu.index(), uuid, mig);
  }

  @Override
  public GpuReading read(int index) {
    Board board = answering(index);
    switch (board.state) {
      case LOAD_FAILS -> throw new NvmlException(UNKNOWN_ERROR, "no load");
      case LOAD_DENIED -> throw new NvmlException(NO_PERMISSION, "Insufficient Permissions");
      case FINE, LOST, WITHOUT_HANDLE, UNEXPECTED -> {}
    }
    return new GpuReading(index, 0, 0, 40, 1, 0, board.eccErrors, Gpm.UNKNOWN);
  }

  @Override
  public GpuReading readMig(int index, int mig) {
    read(index);
    if (mig >= listed.get(index).migDevices.size()) {
      throw new NvmlException(6, "Not Found");
    }
    return new GpuReading(0, 0, 0);
  }

  @Override
  public List<GpuProcess> processes(int index) {
    queried.add("GPU " + index);
    return processes(answering(index));
  }

  private static List<GpuProcess> processes(Board board) {
    if (board.processFailures > 0) {
      board.processFailures--;
      throw new NvmlException(UNKNOWN_ERROR, "no processes");
    }
    return List.of();
  }

  @Override
  public List<GpuProcess> migProcesses(int index, int mig) {
    queried.add("MIG device " + index + ":" + mig);
    return processes(answering(index));
  }

  @Override
  public void unwatchAll() {
    subscribed.clear();
  }

  @Override
  public boolean watch(int index) {
    Board board = answering(index);
    if (subscribingFails) {
      throw new NvmlException(UNKNOWN_ERROR, "cannot be watched");
    }
    subscribed.add(board.uuid);
    return reportsErrors;
  }

  // One GPU that is gone ends the wait for the errors of all.
  @Override
  public Optional<GpuEvent> awaitEvent(int timeoutMs) {
    waits++;
    checkDriver();
    if (waitFails) {
      throw new NvmlException(UNKNOWN_ERROR, "waiting failed");
    }
    if (!events.isEmpty()) {
      return Optional.of(events.remove());
    }
    if (subscribed.stream().anyMatch(uuid -> !answersAs(uuid))) {
      throw new NvmlException(GPU_IS_LOST, "GPU is lost");
    }
    while (!errors.isEmpty()) {
      Raised error = errors.remove();
      if (subscribed.contains(error.board().uuid)) {
        GpuEvent event = new GpuEvent(listed.indexOf(error.board()), error.xid());
        delivered.add(event);
        return Optional.of(event);
      }
    }
    return Optional.empty();
  }

  private boolean answersAs(String uuid) {
    return listed.stream().anyMatch(board -> board.uuid.equals(uuid) && board.state.answers());
  }

  @Override
  public void close() {
    subscribed.clear();
    errors.clear();
  }
}
