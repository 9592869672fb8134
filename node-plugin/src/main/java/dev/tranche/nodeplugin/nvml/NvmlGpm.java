package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Memory;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads GPM: two samples of each GPU or MIG device, whose buffers are swapped, give the values of
 * the time between them. A device that says that it has GPM may fail all the same, at once or after
 * minutes. It then has no values until a later try.
 */
final class NvmlGpm {
  private static final Logger LOG = LoggerFactory.getLogger(NvmlGpm.class);
  static final long RETRY_MS = 60_000;

  /** NVML refreshes its counters every 100 ms. */
  private static final long APART_MS = 100;

  private static final int GRAPHICS_UTIL = 1;
  private static final int SM_UTIL = 2;
  private static final int SM_OCCUPANCY = 3;
  private static final int ANY_TENSOR_UTIL = 5;
  private static final int DRAM_BW_UTIL = 10;
  private static final int[] METRICS = {
    GRAPHICS_UTIL, SM_UTIL, SM_OCCUPANCY, ANY_TENSOR_UTIL, DRAM_BW_UTIL
  };
  // nvmlGpmSupport_t: version, isSupportedDevice
  private static final int SUPPORT_VERSION = 1;
  private static final int SUPPORTED_OFFSET = 4;
  // nvmlGpmMetricsGet_t: version, numMetrics, sample1, sample2, metrics. Newer headers have more
  // metrics under the same version, so there is room for more than any has.
  private static final int METRICS_VERSION = 1;
  private static final int METRICS_GET_BYTES = 32 << 10;
  private static final int COUNT_OFFSET = 4;
  private static final int EARLIER_OFFSET = 8;
  private static final int LATER_OFFSET = 16;
  private static final int METRICS_OFFSET = 24;
  // nvmlGpmMetric_t: metricId, nvmlReturn, value, names
  private static final int METRIC_BYTES = 40;
  private static final int METRIC_RETURN_OFFSET = 4;
  private static final int METRIC_VALUE_OFFSET = 8;

  private final Memory scratch = new Memory(Long.BYTES);
  private final Memory metrics = new Memory(METRICS_GET_BYTES);
  private final NvmlFunctions functions;
  private final LongSupplier clockMs;
  // By name; one for each GPU and each place of a MIG device.
  private final Map<String, Device> devices = new HashMap<>();

  private static final class Device {
    final long handle;
    // Sample buffers of NVML's; 0 until they are allocated.
    long earlier;
    long later;
    boolean sampled;
    Gpm last = Gpm.UNKNOWN;
    String complaint = "";
    long nextAtMs = Long.MIN_VALUE;

    Device(long handle) {
      this.handle = handle;
    }
  }

  NvmlGpm(NvmlFunctions functions, LongSupplier clockMs) {
    this.functions = functions;
    this.clockMs = clockMs;
  }

  /**
   * Returns the values since the last sample. Samples that would be too close are not taken, so the
   * last values are returned again.
   *
   * @param name of the GPU or MIG device, unique in this session
   * @param handle NVML gives another one to a device that came back
   */
  Gpm read(String name, long handle) {
    Device device = devices.get(name);
    if (device == null || device.handle != handle) {
      if (device != null) {
        free(device);
      }
      device = new Device(handle);
      devices.put(name, device);
    }
    long nowMs = clockMs.getAsLong();
    if (nowMs >= device.nextAtMs) {
      sample(name, device, nowMs);
    }
    return device.last;
  }

  private void sample(String name, Device device, long nowMs) {
    try {
      device.last = prepare(name, device) ? next(name, device) : Gpm.UNKNOWN;
    } catch (NvmlException e) {
      device.last = Gpm.UNKNOWN;
      // What a later sample would be compared with is too old then.
      device.sampled = false;
      complain(device, e.getMessage());
    }
    device.nextAtMs = nowMs + (device.sampled ? APART_MS + 1 : RETRY_MS);
  }

  // It may come and go, which must not fill the log.
  private static void complain(Device device, String reason) {
    if (!reason.equals(device.complaint)) {
      device.complaint = reason;
      LOG.warn(
          "{}; its SM activity and memory bandwidth are not known; the plugin retries GPM every"
              + " minute",
          reason);
    }
  }

  /** Returns false if the device has no GPM at all. */
  private boolean prepare(String name, Device device) {
    if (device.sampled) {
      return true;
    }
    scratch.setInt(0, SUPPORT_VERSION);
    boolean says =
        functions.supports(
            name + " does not say whether it has GPM",
            "nvmlGpmQueryDeviceSupport",
            device.handle,
            scratch);
    if (!says || scratch.getInt(SUPPORTED_OFFSET) == 0) {
      return false;
    }
    device.earlier = device.earlier == 0 ? allocate(name) : device.earlier;
    device.later = device.later == 0 ? allocate(name) : device.later;
    return true;
  }

  private long allocate(String name) {
    functions.check(name + " gets no buffer for GPM samples", "nvmlGpmSampleAlloc", scratch);
    return scratch.getLong(0);
  }

  private Gpm next(String name, Device device) {
    functions.check(
        name + " says that it has GPM but gives no sample",
        "nvmlGpmSampleGet",
        device.handle,
        device.later);
    Gpm values = device.sampled ? values(name, device) : Gpm.UNKNOWN;
    long newest = device.later;
    device.later = device.earlier;
    device.earlier = newest;
    device.sampled = true;
    return values;
  }

  private Gpm values(String name, Device device) {
    metrics.setInt(0, METRICS_VERSION);
    metrics.setInt(COUNT_OFFSET, METRICS.length);
    metrics.setLong(EARLIER_OFFSET, device.earlier);
    metrics.setLong(LATER_OFFSET, device.later);
    for (int i = 0; i < METRICS.length; i++) {
      metrics.setInt(metric(i), METRICS[i]);
    }
    functions.check(
        name + " says that it has GPM but gives no values", "nvmlGpmMetricsGet", metrics);
    // Without time between the samples an H100 answers 0 for SMs, and no number for the bandwidth.
    return IntStream.range(0, METRICS.length)
            .allMatch(i -> isAbsent(i) || Double.isFinite(value(i)))
        ? new Gpm(percent(0), percent(1), percent(2), percent(3), percent(4))
        : Gpm.UNKNOWN;
  }

  private static int metric(int i) {
    return METRICS_OFFSET + i * METRIC_BYTES;
  }

  private boolean isAbsent(int i) {
    return metrics.getInt(metric(i) + METRIC_RETURN_OFFSET) != NvmlCode.SUCCESS;
  }

  private double value(int i) {
    return metrics.getDouble(metric(i) + METRIC_VALUE_OFFSET);
  }

  private double percent(int i) {
    return isAbsent(i) ? Double.NaN : Math.clamp(value(i), 0.0, 100.0);
  }

  private void free(Device device) {
    for (long sample : new long[] {device.earlier, device.later}) {
      if (sample != 0) {
        functions.call("nvmlGpmSampleFree", sample);
      }
    }
  }

  /** Frees NVML's buffers; before NVML is shut down. */
  void close() {
    devices.values().forEach(this::free);
    devices.clear();
  }
}
