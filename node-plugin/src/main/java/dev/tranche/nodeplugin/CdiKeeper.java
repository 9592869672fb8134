package dev.tranche.nodeplugin;

import static java.util.stream.Collectors.toUnmodifiableSet;

import dev.tranche.nodeplugin.cdi.CdiSpec;
import dev.tranche.nodeplugin.cdi.CdiSpecs;
import dev.tranche.nodeplugin.cdi.DriverFiles;
import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.config.AllocateOptions.DeviceListStrategy;
import dev.tranche.nodeplugin.gpu.HostNodes;
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

  /** The inputs of the specs. */
  private record SpecInputs(
      AllocateOptions options,
      List<GpuInfo> gpus,
      String driverVersion,
      HostNodes nodes,
      boolean memoryLimits) {
    /** Returns the uuids of those GPUs that these specs also cover. */
    private Set<String> coveredUuids(List<GpuInfo> others) {
      return others.stream().filter(gpus::contains).map(GpuInfo::uuid).collect(toUnmodifiableSet());
    }
  }

  private final Vertx vertx;
  private final Path folder;
  private final Supplier<Hardware> hardware;
  private final NodeMetrics metrics;
  private final Runnable onWritten;
  private @Nullable SpecInputs written;
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
    SpecInputs inputs =
        new SpecInputs(
            options, List.copyOf(gpus), now.driverVersion(), now.nodes(), now.limits().required());
    if (!inputs.equals(written) && !writing) {
      write(inputs);
    }
    return Optional.ofNullable(written)
        .filter(specs -> specs.options().equals(options))
        .filter(specs -> specs.driverVersion().equals(now.driverVersion()))
        .map(specs -> specs.coveredUuids(gpus))
        .or(() -> driverUnusable ? Optional.of(Set.of()) : Optional.empty());
  }

  private void write(SpecInputs inputs) {
    writing = true;
    vertx
        .executeBlocking(() -> writeNow(inputs))
        .onComplete(done -> writing = false)
        .onSuccess(unusable -> written(inputs, unusable))
        .onFailure(
            failure -> {
              driverUnusable = false;
              failed(
                  "%s cannot be written: %s; mount the host's folder there, writable"
                      .formatted(folder, failure));
            });
  }

  private void written(SpecInputs inputs, Optional<String> unusable) {
    driverUnusable = unusable.isPresent();
    if (unusable.isPresent()) {
      failed(unusable.get());
      return;
    }
    written = inputs;
    complaint = "";
    LOG.info("the CDI specs are in {}", folder);
    onWritten.run();
  }

  /** Returns why the driver's files are not what containers need; empty if they are. */
  private Optional<String> writeNow(SpecInputs inputs) throws IOException {
    AllocateOptions options = inputs.options();
    String version = inputs.driverVersion();
    Path root = Path.of(options.driverRootInContainer());
    DriverFiles files = DriverFiles.find(root, version);
    Optional<String> unusable = files.unusable(root, version);
    if (unusable.isEmpty()) {
      var specs = new CdiSpecs(options, inputs.nodes(), files, version, inputs.memoryLimits());
      for (CdiSpec spec : specs.of(inputs.gpus())) {
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
