package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.cdi.CdiFolder;
import dev.tranche.nodeplugin.cdi.CdiSpecs;
import dev.tranche.nodeplugin.cdi.DriverFiles;
import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.config.DeviceListStrategy;
import dev.tranche.nodeplugin.events.NodeEvents;
import dev.tranche.nodeplugin.gpu.Hardware;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps the CDI specs as the config and the GPUs want them. Confined to the event loop. */
final class CdiKeeper {
  private static final Logger LOG = LoggerFactory.getLogger(CdiKeeper.class);

  /** What the specs follow from. */
  private record Wanted(AllocateOptions options, List<GpuInfo> gpus, Hardware hardware) {}

  private final Vertx vertx;
  private final Path folder;
  private final Supplier<Hardware> hardware;
  private final NodeEvents events;
  private final NodeMetrics metrics;
  private final Runnable ready;
  private @Nullable Wanted written;
  private boolean writing;
  private String complaint = "";

  /**
   * @param folder of the node's CDI specs
   * @param ready called once they are there
   */
  CdiKeeper(
      Vertx vertx,
      Path folder,
      Supplier<Hardware> hardware,
      NodeEvents events,
      NodeMetrics metrics,
      Runnable ready) {
    this.vertx = vertx;
    this.folder = folder;
    this.hardware = hardware;
    this.events = events;
    this.metrics = metrics;
    this.ready = ready;
  }

  /**
   * Whether containers can be given these GPUs; else the specs are on their way. One that is asked
   * for again and again tries again, one write at a time.
   */
  boolean ready(AllocateOptions options, List<GpuInfo> gpus) {
    if (options.deviceListStrategies().stream().noneMatch(DeviceListStrategy::cdi)) {
      return true;
    }
    Wanted wanted = new Wanted(options, List.copyOf(gpus), hardware.get());
    if (!wanted.equals(written) && !writing) {
      write(wanted);
    }
    return wanted.equals(written);
  }

  private void write(Wanted wanted) {
    writing = true;
    vertx
        .executeBlocking(() -> writeNow(wanted))
        .onComplete(
            count -> {
              writing = false;
              written = wanted;
              complaint = "";
              LOG.info("{} CDI specs are in {}", count, folder);
              ready.run();
            },
            failure -> {
              writing = false;
              failed(failure.toString());
            });
  }

  private int writeNow(Wanted wanted) {
    AllocateOptions options = wanted.options();
    String version = wanted.hardware().driverVersion();
    DriverFiles files = DriverFiles.find(Path.of(options.driverRootInContainer()), version);
    var specs = new CdiSpecs(options, wanted.hardware().nodes(), files, version).of(wanted.gpus());
    try {
      new CdiFolder(folder).write(specs);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return specs.size();
  }

  private void failed(String reason) {
    metrics.count("tranche.node.cdi.failures", "Attempts to write CDI specs that failed.");
    if (!complaint.equals(reason)) {
      complaint = reason;
      events.node(
          "CdiSpecsNotWritten",
          "CDI specs cannot be written to %s, so no GPU is advertised: %s; mount the host's folder there, writable"
              .formatted(folder, reason),
          true);
    }
  }
}
