package dev.tranche.nodeplugin;

import static java.util.stream.Collectors.toUnmodifiableSet;

import dev.tranche.nodeplugin.cdi.CdiSpec;
import dev.tranche.nodeplugin.cdi.CdiSpecs;
import dev.tranche.nodeplugin.cdi.DriverFiles;
import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.config.AllocateOptions.DeviceListStrategy;
import dev.tranche.nodeplugin.gpu.NodeProblem;
import dev.tranche.nodeplugin.kubelet.Hardware;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps the CDI specs up to date with the config and the GPUs. Confined to the event loop. */
final class CdiKeeper {
  private static final Logger LOG = LoggerFactory.getLogger(CdiKeeper.class);

  private final Vertx vertx;
  private final Path folder;
  private final Supplier<Hardware> hardware;
  private final NodeMetrics metrics;
  private final Runnable onWritten;
  private @Nullable CdiSpecs written;
  private boolean writing;
  private String complaint = "";
  private boolean driverUnusable;

  /**
   * @param folder of the node's CDI specs
   * @param onWritten called once they are written, and when the reason changes why they are not
   */
  CdiKeeper(
      Vertx vertx,
      Path folder,
      Supplier<Hardware> hardware,
      NodeMetrics metrics,
      Runnable onWritten) {
    this.vertx = vertx;
    this.folder = folder;
    this.hardware = hardware;
    this.metrics = metrics;
    this.onWritten = onWritten;
  }

  /**
   * Returns the uuids of those GPUs whose specs are written; the specs of the others are being
   * written. A later call retries a failed write. Writes run one at a time.
   *
   * @return empty while there are no specs by these options and this driver; no uuid if the driver
   *     lacks what containers need
   */
  Optional<Set<String>> gpusWithSpecs(AllocateOptions options, List<GpuInfo> gpus) {
    if (options.deviceListStrategies().stream().noneMatch(DeviceListStrategy::cdi)) {
      return Optional.of(gpus.stream().map(GpuInfo::uuid).collect(toUnmodifiableSet()));
    }
    Hardware now = hardware.get();
    var needed =
        new CdiSpecs(options, gpus, now.nodes(), now.driverVersion(), now.limits().required());
    if (!needed.equals(written) && !writing) {
      write(needed);
    }
    return Optional.ofNullable(written)
        .filter(specs -> specs.options().equals(options))
        .filter(specs -> specs.driverVersion().equals(now.driverVersion()))
        .map(specs -> specs.coveredUuids(gpus))
        .or(() -> driverUnusable ? Optional.of(Set.of()) : Optional.empty());
  }

  private void write(CdiSpecs specs) {
    writing = true;
    vertx
        .executeBlocking(() -> writeNow(specs))
        .onComplete(done -> writing = false)
        .onSuccess(unusable -> written(specs, unusable))
        .onFailure(
            failure -> {
              driverUnusable = false;
              failed(
                  "%s cannot be written: %s; mount the host's folder there, writable"
                      .formatted(folder, failure));
            });
  }

  private void written(CdiSpecs specs, Optional<String> unusable) {
    driverUnusable = unusable.isPresent();
    if (unusable.isPresent()) {
      failed(unusable.get());
      return;
    }
    written = specs;
    complaint = "";
    LOG.info("the CDI specs are in {}", folder);
    onWritten.run();
  }

  /** Returns why the driver's files are not what containers need; empty if they are. */
  private Optional<String> writeNow(CdiSpecs specs) throws IOException {
    Path root = Path.of(specs.options().driverRootInContainer());
    DriverFiles files = DriverFiles.find(root, specs.driverVersion());
    Optional<String> unusable = files.unusable(root, specs.driverVersion());
    if (unusable.isEmpty()) {
      for (CdiSpec spec : specs.of(files)) {
        spec.writeTo(folder);
      }
    }
    return unusable;
  }

  private void failed(String reason) {
    metrics.count("tranche.node.cdi.failures", "Attempts to write CDI specs that failed.");
    boolean changed = !complaint.equals(reason);
    complaint = reason;
    if (changed) {
      onWritten.run();
    }
  }

  /** Returns why there are no CDI specs of the GPUs as they are; empty if there are. */
  Optional<NodeProblem> problem() {
    return NodeProblem.of(
        NodeProblem.Reason.CDI_SPECS_NOT_WRITTEN,
        complaint.isEmpty() ? 0 : 1,
        () -> "no GPU is allocated without its CDI spec: " + complaint);
  }
}
