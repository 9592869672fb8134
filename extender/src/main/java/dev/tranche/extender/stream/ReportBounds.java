package dev.tranche.extender.stream;

import com.google.protobuf.ByteString;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.NodeReport;
import dev.tranche.api.node.PodUse;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * How much one node may report. A message of the allowed size has room for hundreds of thousands of
 * GPUs or pods. Their data is kept, and compared on the loop that all nodes and verbs share. So a
 * report names no more than a node can have, and nothing longer than Kubernetes allows.
 */
final class ReportBounds {
  /** 16 GPUs of 7 MIG devices each, and as many again. */
  static final int GPUS_MAX = 256;

  /** Replicas of all GPUs, and those held, each by its id; a node makes no more than that. */
  static final int REPLICAS_MAX = 10_000;

  /** Assignments that the node keeps; a plugin refuses more. */
  static final int ECHOES_MAX = 4_096;

  /** Containers with processes on a GPU, over all GPUs; a kubelet runs a few hundred. */
  static final int USES_MAX = 4_096;

  static final int EVENTS_MAX = 64;

  /** A name of Kubernetes. */
  static final int NAME_BYTES_MAX = 253;

  /** The name of an extended resource: a domain, a slash and a label. */
  static final int RESOURCE_BYTES_MAX = NAME_BYTES_MAX + 1 + 63;

  /** A uuid, a device's id, a product name, a version. */
  static final int ID_BYTES_MAX = 128;

  static final int SENTENCE_BYTES_MAX = 4_096;

  /** Why a config is refused may quote it. */
  static final int CONFIG_ERROR_BYTES_MAX = 64 << 10;

  private @Nullable String broken;

  private ReportBounds() {}

  /** What there is too much of, as a sentence; empty if the report may be taken. */
  static Optional<String> broken(NodeReport report) {
    var bounds = new ReportBounds();
    bounds.counts(report);
    if (bounds.broken == null) {
      bounds.contents(report);
    }
    return Optional.ofNullable(bounds.broken);
  }

  private void counts(NodeReport report) {
    long held = 0;
    for (var holding : report.getHoldingsList()) {
      // One that names no replica costs as much.
      held += Math.max(1, holding.getDeviceIdsCount());
    }
    long replicas = 0;
    long uses = 0;
    for (Gpu gpu : report.getGpusList()) {
      replicas += Integer.toUnsignedLong(gpu.getReplicas());
      uses += gpu.getPodUsesCount();
    }
    for (var reading : report.getReadingsList()) {
      uses += reading.getPodUsesCount();
    }
    long shares = 0;
    for (Assignment echo : report.getAssignmentsList()) {
      shares += echo.getContainersCount();
      for (var container : echo.getContainersList()) {
        shares += container.getSharesCount();
      }
    }
    count("GPUs", report.getGpusCount(), GPUS_MAX);
    count("replicas", replicas, REPLICAS_MAX);
    count("held replicas", held, REPLICAS_MAX);
    count("assignments", report.getAssignmentsCount(), ECHOES_MAX);
    count("containers and shares of assignments", shares, 2L * REPLICAS_MAX);
    count("containers at work", uses, USES_MAX);
    count("events", report.getEventsCount(), EVENTS_MAX);
  }

  private void contents(NodeReport report) {
    text("node's name", report.getNodeBytes(), NAME_BYTES_MAX);
    text("plugin's instance", report.getPluginInstanceBytes(), ID_BYTES_MAX);
    text("plugin's version", report.getPluginVersionBytes(), ID_BYTES_MAX);
    text("driver's version", report.getDriverVersionBytes(), ID_BYTES_MAX);
    text("config's name", report.getConfig().getNameBytes(), NAME_BYTES_MAX);
    text("config's error", report.getConfig().getErrorBytes(), CONFIG_ERROR_BYTES_MAX);
    report.getGpusList().forEach(this::gpu);
    report.getReadingsList().forEach(reading -> uses(reading.getPodUsesList()));
    report.getAssignmentsList().forEach(this::echo);
    for (var holding : report.getHoldingsList()) {
      pod(holding.getNamespaceBytes(), holding.getPodBytes(), holding.getContainerBytes());
      text("resource's name", holding.getResourceBytes(), RESOURCE_BYTES_MAX);
      for (int i = 0; i < holding.getDeviceIdsCount(); i++) {
        text("device's id", holding.getDeviceIdsBytes(i), ID_BYTES_MAX);
      }
    }
    for (var event : report.getEventsList()) {
      pod(event.getNamespaceBytes(), event.getPodBytes(), ByteString.EMPTY);
      text("event's reason", event.getReasonBytes(), ID_BYTES_MAX);
      text("event's message", event.getMessageBytes(), SENTENCE_BYTES_MAX);
    }
  }

  private void gpu(Gpu gpu) {
    text("GPU's uuid", gpu.getUuidBytes(), ID_BYTES_MAX);
    text("GPU's uuid", gpu.getParentUuidBytes(), ID_BYTES_MAX);
    text("GPU's model", gpu.getModelBytes(), ID_BYTES_MAX);
    text("MIG profile", gpu.getMigProfileBytes(), ID_BYTES_MAX);
    text("resource's name", gpu.getResourceBytes(), RESOURCE_BYTES_MAX);
    text("reason of a GPU's health", gpu.getHealthReasonBytes(), SENTENCE_BYTES_MAX);
    text("reason of a GPU's cordon", gpu.getCordonReasonBytes(), SENTENCE_BYTES_MAX);
    uses(gpu.getPodUsesList());
  }

  private void uses(List<PodUse> uses) {
    for (PodUse use : uses) {
      pod(use.getNamespaceBytes(), use.getPodBytes(), use.getContainerBytes());
    }
  }

  private void pod(ByteString namespace, ByteString pod, ByteString container) {
    text("namespace", namespace, NAME_BYTES_MAX);
    text("pod's name", pod, NAME_BYTES_MAX);
    text("container's name", container, NAME_BYTES_MAX);
  }

  /** The API server is asked about its pod by this name. */
  private void echo(Assignment echo) {
    text("pod's uid", echo.getPodUidBytes(), ID_BYTES_MAX);
    text("resource's name", echo.getResourceBytes(), RESOURCE_BYTES_MAX);
    name("namespace", echo.getNamespaceBytes());
    name("pod's name", echo.getPodBytes());
    for (var container : echo.getContainersList()) {
      text("container's name", container.getContainerBytes(), NAME_BYTES_MAX);
      for (var share : container.getSharesList()) {
        text("GPU's uuid", share.getUuidBytes(), ID_BYTES_MAX);
        long replicas = Integer.toUnsignedLong(share.getReplicas());
        count("replicas of one share", replicas, REPLICAS_MAX);
      }
    }
  }

  private void count(String what, long count, long max) {
    if (broken == null && count > max) {
      broken = "a report names %d %s; %d are allowed".formatted(count, what, max);
    }
  }

  private void text(String what, ByteString text, int max) {
    if (broken == null && text.size() > max) {
      broken = "a report has a %s of %d bytes; %d are allowed".formatted(what, text.size(), max);
    }
  }

  private void name(String what, ByteString name) {
    text(what, name, NAME_BYTES_MAX);
    if (broken == null && (name.isEmpty() || name.byteAt(0) == '.')) {
      broken = "an assignment has a %s that is empty or begins with a dot".formatted(what);
    }
    for (int i = 0; broken == null && i < name.size(); i++) {
      byte c = name.byteAt(i);
      if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '.') {
        broken =
            "an assignment has a %s that Kubernetes does not allow: small letters, digits, '-' and"
                    .formatted(what)
                + " '.' are";
      }
    }
  }
}
